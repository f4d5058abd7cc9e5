// The program as it is when it uses sections, with its lines, and as farside-opt reads it.
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: farside-cc -O2 -emit-rmem -fsections=%S/../remote/Inputs/graph.toml %S/../remote/graph.c | FileCheck %s
// CHECK: // {{.*}}graph.c
// CHECK: rmem.cache_section @rmem.section.nodes capacity 65536 line 128 ways 2 ahead 8
// CHECK-LABEL: @traverse(
// CHECK: rmem.ahead @rmem.section.edges, {{.*}}  // graph.c:27
// CHECK: rmem.hold @rmem.section.edges
// CHECK: rmem.misses @rmem.section.nodes
// CHECK-NOT: rmem.misses
// CHECK: rmem.here @rmem.section.nodes, {{.*}} size 16 written  // graph.c:20
// CHECK: rmem.here @rmem.section.nodes
// CHECK: rmem.let_go

// RUN: farside-cc -O2 -emit-rmem -fsections=%S/../remote/Inputs/graph.toml %S/../remote/graph.c -c -o graph.mlir | count 0
// RUN: farside-opt graph.mlir --farside-unstructure --farside-lower-remote | FileCheck %s --check-prefix=LOWERED
// LOWERED: llvm.call @farside_rt_hold(

// Nothing else is written, and what cannot be shown is said.
// RUN: ls | count 1
// RUN: farside-cc -emit-rmem -fsections=%S/../remote/Inputs/graph.toml %s -o none.mlir
// RUN: FileCheck %s --check-prefix=NONE --input-file=none.mlir
// NONE: // Nothing of it goes to sections
// RUN: not farside-cc -emit-rmem %s 2>&1 | FileCheck %s --check-prefix=WHICH
// WHICH: farside-cc: -emit-rmem shows what goes to sections; say which: -fsections=FILE
// RUN: not farside-cc -emit-rmem -fsections=%S/../remote/Inputs/graph.toml %s -o no/where 2>&1 | FileCheck %s --check-prefix=WHERE
// WHERE: farside-cc: cannot write no/where: No such file or directory
int main(void) { return 0; }
