// The product of a square matrix of order N and a vector.

#include <Eigen/Core>

#include "digest.h"

int main(int argc, char **argv) {
  const long n = argument(argc, argv, 1);
  const Eigen::MatrixXd a = Eigen::MatrixXd::Random(n, n);
  const Eigen::VectorXd x = Eigen::VectorXd::Random(n);
  const Eigen::VectorXd y = a * x;
  Digest digest;
  digest.add(y.data(), n);
  digest.print("mvmul");
}
