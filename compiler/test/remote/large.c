// A function with very many accesses calls what looks them up, so that it does not take minutes to optimize.
// RUN: %remote %S/Inputs/large.toml %s
// RUN: farside-cc -O2 -S -emit-llvm -fsections=%S/Inputs/large.toml %s -o - | FileCheck %s
#include <stdio.h>
#include <stdlib.h>

#define COUNT 4096

static long *cells(void) { return calloc(COUNT, sizeof(long)); }

static unsigned turn;
static unsigned next(void) {
  turn = turn * 1103515245 + 12345;
  return turn >> 16 & (COUNT - 1);
}

#define ONCE(data) if (next() & 1) (data)[next()] += turn & 7;
#define FOUR(data) ONCE(data) ONCE(data) ONCE(data) ONCE(data)
#define SIXTEEN(data) FOUR(data) FOUR(data) FOUR(data) FOUR(data)
#define MANY(data) SIXTEEN(data) SIXTEEN(data) SIXTEEN(data) SIXTEEN(data)

// CHECK-LABEL: define {{.*}}@large.remote(
// CHECK: call {{.*}}@farside_rt_here_
// CHECK-LABEL: define {{.*}}@small.remote(
// CHECK-NOT: call {{.*}}@farside_rt_here_
// CHECK: ret void
__attribute__((noinline)) static void large(long *data) { MANY(data) MANY(data) MANY(data) MANY(data) }
__attribute__((noinline)) static void small(long *data) { FOUR(data) }

int main(void) {
  long *data = cells(), sum = 0;
  for (int i = 0; i < 20; ++i) {
    large(data);
    small(data);
  }
  for (int i = 0; i < COUNT; ++i)
    sum = sum * 31 + data[i];
  printf("%ld\n", sum);
  free(data);
}
