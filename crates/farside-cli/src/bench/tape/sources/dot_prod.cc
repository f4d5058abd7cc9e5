// The dot product of two vectors of N numbers: each is written once and read once.

#include <Eigen/Core>

#include "digest.h"

int main(int argc, char **argv) {
  const long n = argument(argc, argv, 1);
  const Eigen::VectorXd a = Eigen::VectorXd::Random(n);
  const Eigen::VectorXd b = Eigen::VectorXd::Random(n);
  const double product = a.dot(b);
  Digest digest;
  digest.add(&product, 1);
  digest.print("dot_prod");
}
