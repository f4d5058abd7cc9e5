// Loops that add to the same elements in each turn take four of their turns together: what is added to is come to once for all
// four. What else they come to may not be what they add to, which is looked at when the program runs; what overlaps, or is of
// no length, is as it was.
// RUN: %remote %S/Inputs/jammed.toml %s
// RUN: farside-cc -O2 -fsections=%S/Inputs/jammed.toml -emit-rmem %s -o - | FileCheck %s
// CHECK-LABEL: llvm.func {{.*}}@add_rows(
// CHECK: rmem.jammed = 4
// CHECK-LABEL: llvm.func {{.*}}@multiply(
// CHECK: rmem.jammed = 4
// CHECK-LABEL: llvm.func {{.*}}@count_each(
// CHECK: rmem.jammed = 4
#include <stdio.h>
#include <stdlib.h>

#ifdef APART
#define NEXT_ROW __asm__ volatile("" ::: "memory")
#else
#define NEXT_ROW
#endif

static float *new_matrix(long count) {
  float *numbers = malloc((count + 1) * sizeof *numbers);
  for (long i = 0; i < count; i++)
    numbers[i] = (float)(i * 7 % 23) * 0.01f - 0.1f;
  return numbers;
}

static float *new_sums(long count) {
  float *numbers = malloc((count + 1) * sizeof *numbers);
  for (long i = 0; i < count; i++)
    numbers[i] = (float)(i % 5);
  return numbers;
}

// Each row for all vectors. All but the matrix may be the same.
__attribute__((noinline)) static void multiply(float *out, const float *in, const float *matrix, long vectors, long rows,
                                               long length) {
  for (long i = 0; i < rows; i++)
    for (long v = 0; v < vectors; v++) {
      const float factor = in[v * rows + i];
      for (long j = 0; j < length; j++)
        out[v * length + j] += factor * matrix[i * length + j];
    }
}

// Two loops, and another order of what is added.
__attribute__((noinline)) static void add_rows(float *sums, const float *matrix, long rows, long length) {
  for (long i = 0; i < rows; i++) {
    NEXT_ROW;
    for (long j = 0; j < length; j++)
      sums[j] = sums[j] * 0.5f + matrix[i * length + j] / (float)(i + 1);
  }
}

// Integers in plain memory, by rows that are read backwards.
__attribute__((noinline)) static void count_each(int *counts, const float *matrix, long rows, long length) {
  for (long i = 0; i < rows; i++)
    for (long j = 0; j < length; j++)
      counts[j] += matrix[(rows - 1 - i) * length + j] > 0;
}

static double sum(const float *numbers, long count) {
  double result = 0;
  for (long i = 0; i < count; i++)
    result = result * 0.75 + numbers[i];
  return result;
}

static void try_shape(long vectors, long rows, long length) {
  float *matrix = new_matrix(rows * length), *in = new_sums(vectors * rows), *out = new_sums((vectors + 1) * length);
  int *counts = calloc(length + 1, sizeof *counts);
  multiply(out, in, matrix, vectors, rows, length);
  add_rows(out, matrix, rows, length);
  count_each(counts, matrix, rows, length);
  long all = 0;
  for (long j = 0; j < length; j++)
    all = all * 3 + counts[j];
  printf("%ld %ld %ld: %.9g %ld\n", vectors, rows, length, sum(out, vectors * length), all);
  free(matrix), free(in), free(out), free(counts);
}

// What is multiplied is what is added to, all of it or a part, or lies right behind or before it.
static void try_overlaps(long vectors, long rows) {
  const long size = vectors * rows;
  float *matrix = new_matrix(rows * rows), *both = new_sums(3 * size);
  for (long at = 0; at <= size; at += size / 4) {
    for (long i = 0; i < 3 * size; i++)
      both[i] = (float)(i % 7) * 0.125f;
    multiply(both + size, both + at, matrix, vectors, rows, rows);
    multiply(both, both + 2 * size - at, matrix, 1, rows, rows);
    printf("%ld: %.9g\n", at, sum(both, 3 * size));
  }
  free(matrix), free(both);
}

int main(int argc, char **argv) {
  // Longer sums than there is room for.
  if (argc > 1) {
    const long rows = 64, length = atol(argv[1]);
    float *matrix = new_matrix(rows * length), *sums = new_sums(length);
    add_rows(sums, matrix, rows, length);
    printf("%.9g\n", sum(sums, length));
    return 0;
  }
  const long lengths[] = {0, 1, 5, 33, 256, 1000, 3000}, rows[] = {0, 1, 3, 4, 6, 21};
  for (unsigned l = 0; l < sizeof lengths / sizeof *lengths; l++)
    for (unsigned r = 0; r < sizeof rows / sizeof *rows; r++)
      for (long vectors = 0; vectors < 4; vectors += 3)
        try_shape(vectors + (l == 3), rows[r], lengths[l]);
  try_overlaps(3, 16);
  try_overlaps(2, 100);
  return 0;
}
