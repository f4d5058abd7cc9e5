// Lists that LLVM keeps in variables of its own do not hold functions back.
// RUN: farside-cc -ffarside-passes= -Rfarside -O1 -c %s -o %t.o 2>&1 | FileCheck %s
// CHECK-NOT: every function
// CHECK: constructors.c: remark: {{.*}}, 0 stayed [-Rfarside]
static int state;
__attribute__((constructor)) static void begin(void) { state = 1; }
__attribute__((used)) static int used(void) { return state; }
