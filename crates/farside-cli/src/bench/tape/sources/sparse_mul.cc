// The product of two sparse square matrices of order N, of whose numbers nine in ten are zero.

#include <Eigen/SparseCore>

#include "digest.h"

using Matrix = Eigen::SparseMatrix<double>;

static Matrix random(long n) {
  Matrix matrix(n, n);
  matrix.reserve(n * n / 10 + n);
  for (long column = 0; column < n; column++) {
    matrix.startVec(column);
    for (long row = 0; row < n; row++)
      if (std::rand() % 10 == 0)
        matrix.insertBack(row, column) = static_cast<double>(std::rand()) / RAND_MAX;
  }
  matrix.finalize();
  return matrix;
}

int main(int argc, char **argv) {
  const long n = argument(argc, argv, 1);
  const Matrix a = random(n), b = random(n);
  const Matrix c = a * b;
  Digest digest;
  digest.add(c.valuePtr(), c.nonZeros());
  digest.print("sparse_mul");
}
