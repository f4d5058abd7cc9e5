// The product of two square matrices of order N, by P threads that have equal shares of the columns.

#include <Eigen/Core>

#include "digest.h"

int main(int argc, char **argv) {
  const long n = argument(argc, argv, 1), threads = argument(argc, argv, 2);
  const Eigen::MatrixXd a = Eigen::MatrixXd::Random(n, n);
  const Eigen::MatrixXd b = Eigen::MatrixXd::Random(n, n);
  Eigen::MatrixXd c(n, n);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (long share = 0; share < threads; share++) {
    const long first = n * share / threads, end = n * (share + 1) / threads;
    c.middleCols(first, end - first).noalias() = a * b.middleCols(first, end - first);
  }
  Digest digest;
  digest.add(c.data(), n * n);
  digest.print("matmul");
}
