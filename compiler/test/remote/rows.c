// Rows of a matrix that are gone through once for each of several vectors, or are written to as often: their lines are looked up
// once for all. Rows that lie across lines, and rows of no length, are as they were. How long they are is known when it runs.
// RUN: %remote %S/Inputs/rows.toml %s
#include <stdio.h>
#include <stdlib.h>

struct shape {
  long rows, length, vectors;
};

static double *new_matrix(long count) {
  double *numbers = malloc((count + 1) * sizeof *numbers);
  for (long i = 0; i < count; i++)
    numbers[i] = (double)(i * 7 % 23) - 11;
  return numbers;
}

// Each row for all vectors.
__attribute__((noinline)) static void multiply(double *out, const double *matrix, const double *in, struct shape shape) {
  for (long i = 0; i < shape.rows; i++)
    for (long v = 0; v < shape.vectors; v++) {
      double factor = in[v * shape.rows + i];
      for (long j = 0; j < shape.length; j++)
        out[v * shape.length + j] += factor * matrix[i * shape.length + j];
    }
}

// The sums of columns are a row that is written to.
__attribute__((noinline)) static void add_rows(double *sums, const double *matrix, struct shape shape) {
  for (long i = 0; i < shape.rows; i++)
    for (long j = 0; j < shape.length; j++)
      sums[j] = sums[j] * 0.5 + matrix[i * shape.length + j];
}

// A row that is both read and written to, backwards.
__attribute__((noinline)) static double smooth(double *row, long length, long times) {
  double moved = 0;
  for (long time = 0; time < times; time++)
    for (long j = length - 1; j > 0; j--) {
      double before = row[j];
      row[j] = (before + row[j - 1]) / 2;
      moved += row[j] - before;
    }
  return moved;
}

static double sum(const double *numbers, long count) {
  double result = 0;
  for (long i = 0; i < count; i++)
    result = result * 0.25 + numbers[i];
  return result;
}

int main(int argc, char **argv) {
  long times = 3, many = argc > 1 ? atol(argv[1]) : 300;
  struct shape shapes[] = {{many, 96, times}, {40, 1000, times}, {64, 512, times}, {9, 0, times}, {0, 5, times}, {30, 33, 0}};
  for (unsigned s = 0; s < sizeof shapes / sizeof *shapes; s++) {
    struct shape shape = shapes[s];
    double *matrix = new_matrix(shape.rows * shape.length), *in = new_matrix(shape.rows * shape.vectors);
    double *out = new_matrix(shape.vectors * shape.length), *sums = new_matrix(shape.length);
    multiply(out, matrix, in, shape);
    add_rows(sums, matrix, shape);
    printf("%.6g %.6g %.6g\n", sum(out, shape.vectors * shape.length), sum(sums, shape.length),
           smooth(sums, shape.length, times));
    free(matrix), free(in), free(out), free(sums);
  }
  return 0;
}
