// What MLIR cannot take stays as clang made it, and -Rfarside tells why.
// RUN: farside-cc -ffarside-passes= -Rfarside -g1 -c %s -o %t.o 2>&1 | FileCheck %s

// CHECK-DAG: stays.c:[[@LINE+1]]: remark: function 'jumps' stays as clang made it: it has assembly that jumps [-Rfarside]
int jumps(int x) {
  __asm__ goto("test %0, %0; js %l1" : : "r"(x) : "cc" : negative);
  return 1;
negative:
  return 2;
}

// CHECK-DAG: stays.c:[[@LINE+1]]: remark: function 'interprets' stays as clang made it: it has labels as values
int interprets(int x) {
  static void *labels[] = {&&even, &&odd};
  goto *labels[x & 1];
even:
  return 10;
odd:
  return 11;
}

// CHECK-DAG: remark: function 'bare' stays as clang made it: it is naked
__attribute__((naked)) void bare(void) { __asm__("ret"); }

int goes(int x) { return x + 1; }

// CHECK: stays.c: remark: 1 functions came back the very same, 0 changed, 3 stayed
