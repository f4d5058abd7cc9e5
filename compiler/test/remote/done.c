// What a loop has gone through and nothing comes back to leaves before others, where it is more than the section has room for:
// so a part of what is gone through again and again is still here, and so is what else the section holds.
// RUN: %remote %S/Inputs/done.toml %s
// RUN: farside-cc -O2 -fsections=%S/Inputs/done.toml -emit-rmem %s -o - | FileCheck %s
// CHECK-LABEL: llvm.func {{.*}}@sum(
// CHECK: rmem.done @rmem.section.numbers
// CHECK-LABEL: llvm.func {{.*}}@lagging(
// CHECK-NOT: rmem.done
// CHECK-LABEL: llvm.func {{.*}}@in_rows(
#include <stdio.h>
#include <stdlib.h>

enum { many = 32 << 10, few = 2 << 10, times = 20 };

static long *make(long count) {
  long *all = malloc(count * sizeof *all);
  for (long i = 0; i < count; i++)
    all[i] = i * 2654435761u % 1000;
  return all;
}

__attribute__((noinline)) static long sum(const long *all, long count, long turn) {
  long result = 0;
  for (long i = 0; i < count; i++)
    result += all[i] ^ turn;
  return result;
}

// Elements are used twice: the second time, a loop lags behind.
__attribute__((noinline)) static long lagging(const long *all, long count, long lag) {
  long result = 0;
  for (long i = lag; i < count; i++)
    result = result * 3 + (all[i] ^ all[i - lag]);
  return result;
}

// Rows are used twice, too, one after another.
__attribute__((noinline)) static long in_rows(long *all, long rows, long row) {
  long result = 0;
  for (long i = 0; i < rows; i++) {
    for (long j = 0; j < row; j++)
      result += all[i * row + j];
    for (long j = 0; j < row; j++)
      all[i * row + j] += result & 1;
  }
  return result;
}

int main(void) {
  long *large = make(many), *small = make(few);
  unsigned long all = 0;
  for (int i = 0; i < times; i++)
    all = all * 31 + (unsigned long)sum(large, many, i) + (unsigned long)sum(small, few, i);
  printf("%lu\n", all);
  printf("%lu %lu\n", (unsigned long)lagging(large, many, 3000), (unsigned long)in_rows(large, 64, many / 64));
  free(large), free(small);
  return 0;
}
