// A function is not kept if less could go to sections then: what it is passed would have to share one.
// RUN: farside-cc -O2 -ffarside-profile -c %s -o %t.o
// RUN: llvm-objcopy --dump-section=.llvm.lto=%t.bc %t.o /dev/null
// RUN: llvm-dis %t.bc -o - | FileCheck %s --check-prefix=MARKED
// RUN: farside-cc -O2 -ffarside-profile %t.o -o %t
// RUN: %S/Inputs/candidates show %t | grep ^function | sort | FileCheck %s
// RUN: %S/Inputs/candidates sections %t | grep -c "^.section" | grep -x 3
// RUN: clang -O2 %s -o %t.plain
// RUN: %t.plain > %t.out
// RUN: %t | cmp %t.out -
// CHECK: function main calls ['sum_of']
// CHECK-NEXT: function sum_of calls [] runs where its data is
// CHECK-NOT: {{.}}
#include <stdio.h>
#include <stdlib.h>

struct table {
  long *numbers;
  char *flags;
  long *more;
};

// MARKED: define internal {{.*}} @total({{.*}} [[ATTRIBUTES:#[0-9]+]]
// MARKED: attributes [[ATTRIBUTES]] = {{.*}}farside-kept
static long total(struct table table, long count) {
  long sum = 0;
  for (long i = 0; i < count; i++)
    sum = sum * 3 + table.numbers[i] + table.more[i];
  return sum;
}

// Others are.
static long sum_of(const long *numbers, long count) {
  long sum = 0;
  for (long i = 0; i < count; i++)
    sum = sum * 7 + numbers[i];
  return sum;
}

int main(int arguments, char **texts) {
  long count = 999 + arguments, sum = 0;
  struct table one = {malloc(count * sizeof(long)), malloc(count), malloc(count * sizeof(long))};
  for (long i = 0; i < count; i++)
    one.numbers[i] = i * 77, one.flags[i] = (char)i, one.more[i] = i % 5;
  sum = total(one, count);
  for (long i = 0; i < count; i++)
    sum = sum * 5 + one.flags[i];
  printf("%ld %ld\n", sum, sum_of(one.more, count));
  free(one.numbers), free(one.flags), free(one.more);
}
