// Loops that do not show how often they turn, while scalar evolution knows it, are counted, hold lines and send for what comes.
// RUN: %remote %S/Inputs/counted.toml %s
// RUN: farside-cc -O2 -fsections=%S/Inputs/counted.toml -emit-rmem %s -o - | FileCheck %s
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 20000 };

static int *new_numbers(long count) { return malloc(count * sizeof(int)); }

static void fill(int *at, long count) {
  for (long i = 0; i < count; i++)
    at[i] = (int)(i * 7 % 1001);
}

// Down, by more than one.
// CHECK-LABEL: llvm.func {{.*}}@down(
// CHECK: rmem.hold @rmem.section.numbers
__attribute__((noinline)) static long down(const int *at, int from) {
  long all = 0;
  for (int i = from; i > 5; i -= 3)
    all = all * 3 + at[i];
  return all;
}

// In numbers of which it has to be known that they do not go round.
// CHECK-LABEL: llvm.func {{.*}}@bytes(
// CHECK: rmem.hold @rmem.section.numbers
__attribute__((noinline)) static long bytes(const char *at, long count) {
  long all = 0;
  for (unsigned i = 0; i < count * 4; i += 4)
    all = all * 5 + *(const int *)(at + i);
  return all;
}

// By steps that are known late; what comes is sent for.
// CHECK-LABEL: llvm.func {{.*}}@apart(
// CHECK: scf.for unsigned
// CHECK: rmem.fetch_if_not_in_cache @rmem.section.numbers
__attribute__((noinline)) static long apart(const int *at, long count, unsigned step) {
  long all = 0;
  for (long i = 0; i < count; i += step + 1l)
    all = all * 7 + at[i];
  return all;
}

// A shorter number that goes round is carried beside the one that counts down, and is something afterwards.
// CHECK-LABEL: llvm.func {{.*}}@beside(
// CHECK: scf.for unsigned
// CHECK: rmem.fetch_if_not_in_cache @rmem.section.numbers
__attribute__((noinline)) static long beside(int *at, int count) {
  unsigned short index = 3;
  for (int left = count; left > 5; left -= 2) {
    at[index % 8192] ^= left;
    index += 77;
  }
  return index;
}

// It is not known how often this one turns: what it writes may be what it counts to.
// CHECK-LABEL: llvm.func {{.*}}@unknown(
// CHECK-NOT: rmem.hold
// CHECK: llvm.return
__attribute__((noinline)) static long unknown(int *at, const int *bound) {
  long turns = 0;
  for (int i = 0; i < *bound; i += 3, turns++)
    at[i] ^= 1;
  return turns;
}

int main(int argc, char **argv) {
  int *at = new_numbers(COUNT);
  fill(at, COUNT);
  printf("%ld %ld %ld %ld\n", down(at, COUNT - 1), down(at, 6), down(at, 5), down(at, INT_MIN));
  printf("%ld %ld %ld\n", bytes((char *)at, COUNT), bytes((char *)at, 1), bytes((char *)at, 0));
  for (unsigned step = 0; step < 300; step += 37)
    printf("%ld %ld\n", apart(at, COUNT, step), apart(at, step, step));
  printf("%ld %ld\n", beside(at, 31999 + argc), beside(at, argc));
  at[COUNT - 1] = 900;
  printf("%ld\n", unknown(at, at + COUNT - 1));
  fill(at + 9, 5);
  printf("%ld\n", down(at, COUNT - 1));
  free(at);
}
