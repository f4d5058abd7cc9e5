// Two loops that go through the same array, one behind the other, become one: the array is fetched once for both, and what
// only one of them goes through is sent for together with it. Those that come to what the other has not done yet stay two.
// RUN: %remote %S/Inputs/fused.toml %s
// RUN: farside-cc -O2 -fsections=%S/Inputs/fused.toml -emit-rmem %s -o - | FileCheck %s
// CHECK-LABEL: llvm.func {{.*}}@worth(
// CHECK: scf.while
// CHECK-NOT: scf.while
// CHECK-LABEL: llvm.func {{.*}}@ahead_of(
// CHECK: scf.while
// CHECK: scf.while
// CHECK-LABEL: llvm.func {{.*}}@smooth(
// CHECK: scf.while
// CHECK-NOT: scf.while
// CHECK-LABEL: llvm.func {{.*}}@total(
// CHECK: scf.while
// CHECK: scf.while
#include <stdio.h>
#include <stdlib.h>

#ifdef APART
#define NEXT_LOOP __asm__ volatile("")
#else
#define NEXT_LOOP
#endif

enum { many = 100000, times = 4 };

static double *make_prices(long count) {
  double *all = malloc(count * sizeof *all);
  for (long i = 0; i < count; i++)
    all[i] = i * 2654435761u % 1000 * 0.125;
  return all;
}

static long *make_counts(long count) {
  long *all = malloc(count * sizeof *all);
  for (long i = 0; i < count; i++)
    all[i] = i % 77;
  return all;
}

__attribute__((noinline)) static double worth(double *prices, long *counts, long count) {
  double most = 0, sum = 0;
  for (long i = 0; i < count; i++)
    if (prices[i] > most)
      most = prices[i];
  NEXT_LOOP;
  for (long i = 0; i < count; i++) {
    sum = sum * 0.5 + prices[i] * (double)counts[i];
    counts[i]++;
  }
  return most + sum;
}

// The second loop reads what the first has not come to yet, if they were one.
__attribute__((noinline)) static double ahead_of(double *prices, long count) {
  double sum = 0;
  for (long i = 0; i < count; i++)
    prices[i] = prices[i] * 0.5 + (double)i;
  NEXT_LOOP;
  for (long i = 0; i < count; i++)
    sum = sum * 0.25 + prices[i + 1];
  return sum;
}

// What it has come to, it may.
__attribute__((noinline)) static double smooth(double *prices, long *counts, long count) {
  double sum = 0;
  for (long i = 1; i < count; i++) {
    prices[i] = prices[i] * 0.5 + (double)counts[i];
    counts[i] ^= i;
  }
  NEXT_LOOP;
  for (long i = 1; i < count; i++)
    sum = sum * 0.25 + prices[i - 1] + (double)counts[i];
  return sum;
}

// The sum of the first is what the second divides by.
__attribute__((noinline)) static double total(double *prices, long count) {
  double sum = 1;
  for (long i = 0; i < count; i++)
    sum += prices[i];
  NEXT_LOOP;
  for (long i = 0; i < count; i++)
    prices[i] = prices[i] / sum * 1024;
  return sum;
}

int main(void) {
  double *prices = make_prices(many + 1);
  long *counts = make_counts(many + 1);
#ifndef LONG_RUN
  for (long count = 1; count < many; count = count * 7 + 3)
    printf("%ld: %.17g %.17g %.17g %.17g\n", count, worth(prices, counts, count), ahead_of(prices, count),
           smooth(prices, counts, count), total(prices, count));
#endif
  for (int i = 0; i < times; i++)
    printf("%.17g\n", worth(prices, counts, many));
  free(prices), free(counts);
  return 0;
}
