// With debug information, what is said of assignments to variables in memory does not keep a body from being exchanged.
// RUN: farside-cc -O1 -g -Rfarside -ffarside-passes=farside-structure,farside-unstructure -c %s -o %t.o 2>&1 | FileCheck %s
// CHECK-NOT: stays as clang made it
// CHECK: 1 changed, 0 stayed
struct pair {
  long one, other;
};
void take(struct pair *pair);

long sum(long count) {
  struct pair pair = {count, 1};
  long total = 0;
  for (long i = 0; i < count; i++) {
    pair.other = i;
    take(&pair);
    total += pair.one;
  }
  return total;
}
