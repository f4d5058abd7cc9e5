// Operations of rmem that are written by hand do what they say: they are lowered, linked with what programs bring along, and
// run by themselves and on far memory. Inputs/by_hand.c calls them, and says what is to come of it.
// REQUIRES: farside
// RUN: rm -rf %t && mkdir %t
// RUN: farside-opt %s --farside-expand-derefs --farside-unstructure --farside-lower-remote > %t/low.mlir
// RUN: mlir-translate --mlir-to-llvmir %t/low.mlir -o %t/low.ll
// RUN: clang -O2 -I %S/../../../include -c %S/Inputs/by_hand.c -o %t/by_hand.o
// RUN: clang -O2 -Wno-override-module %t/by_hand.o %t/low.ll %bitcode/farside-sections.bc -o %t/by_hand
// RUN: %t/by_hand > %t/plain
// RUN: %farside run --quiet --local 8M --stats %t/far.json -- %t/by_hand > %t/far
// RUN: FileCheck %S/Inputs/by_hand.c --check-prefixes=BOTH,PLAIN < %t/plain
// RUN: FileCheck %S/Inputs/by_hand.c --check-prefixes=BOTH,FAR < %t/far
// RUN: %python %S/Inputs/used.py %t/far.json section_misses section_ahead section_fetched section_written section_evicted

rmem.cache_section @rmem.section.nodes capacity 16384 line 128 ways 2 ahead 4

llvm.func @make(%size: i64) -> !llvm.ptr {
  %all = remotable.alloc @rmem.section.nodes, %size
  llvm.return %all : !llvm.ptr
}

llvm.func @give_back(%all: !llvm.ptr) -> !llvm.ptr {
  %plain = remotable.release @rmem.section.nodes, %all
  llvm.return %plain : !llvm.ptr
}

// Translates two pointers, one after the other.
llvm.func @set(%at: !llvm.ptr, %value: i64) {
  %one = llvm.mlir.constant(1 : i64) : i64
  %here = rmem.deref @rmem.section.nodes, %at size 8 written
  llvm.store %value, %here : i64, !llvm.ptr
  %field = llvm.getelementptr %at[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %next = llvm.add %value, %one : i64
  %there = rmem.deref @rmem.section.nodes, %field size 8 written
  llvm.store %next, %there : i64, !llvm.ptr
  llvm.return
}

llvm.func @get(%at: !llvm.ptr) -> i64 {
  %here = rmem.deref @rmem.section.nodes, %at size 8
  %value = llvm.load %here : !llvm.ptr -> i64
  llvm.return %value : i64
}

// What that consists of, one by one.
llvm.func @want(%at: !llvm.ptr) {
  rmem.fetch_if_not_in_cache @rmem.section.nodes, %at
  llvm.return
}
llvm.func @want_all(%at: !llvm.ptr, %size: i64) {
  rmem.fetch @rmem.section.nodes, %at, %size
  llvm.return
}
llvm.func @await(%at: !llvm.ptr) {
  rmem.wait @rmem.section.nodes, %at
  llvm.return
}
llvm.func @add(%at: !llvm.ptr, %more: i64) -> i64 {
  %here = rmem.paddr @rmem.section.nodes, %at size 8 written
  %value = llvm.load %here : !llvm.ptr -> i64
  %sum = llvm.add %value, %more : i64
  llvm.store %sum, %here : i64, !llvm.ptr
  llvm.return %sum : i64
}
llvm.func @give_up(%at: !llvm.ptr, %size: i64) {
  rmem.flush @rmem.section.nodes, %at, %size
  llvm.return
}

// What a node holds if it is here, or else what the caller says.
llvm.func @if_here(%at: !llvm.ptr, %else: i64) -> i64 {
  %null = llvm.mlir.zero : !llvm.ptr
  %here = rmem.here @rmem.section.nodes, %at size 8
  %is = llvm.icmp "ne" %here, %null : !llvm.ptr
  %value = scf.if %is -> (i64) {
    %loaded = llvm.load %here : !llvm.ptr -> i64
    scf.yield %loaded : i64
  } else {
    scf.yield %else : i64
  }
  llvm.return %value : i64
}
llvm.func @missing() -> i64 {
  %misses = rmem.misses @rmem.section.nodes
  %number = llvm.zext %misses : i1 to i64
  llvm.return %number : i64
}

// A loop that holds lines of nodes of 64 bytes, and is done with them.
llvm.func @sum(%all: !llvm.ptr, %count: i64) -> i64 {
  %none = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %result:2 = scf.while (%at = %none, %sum = %none) : (i64, i64) -> (i64, i64) {
    %more = arith.cmpi ult, %at, %count : i64
    scf.condition(%more) %at, %sum : i64, i64
  } do {
  ^bb0(%at: i64, %sum: i64):
    %rest = arith.subi %count, %at : i64
    %start = arith.cmpi eq, %at, %none : i64
    %node = llvm.getelementptr %all[%at] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<8 x i64>
    %last = rmem.turns @rmem.section.nodes, %node size 8 stride 64
    %turns = arith.minui %rest, %last : i64
    rmem.ahead @rmem.section.nodes, %node, %rest start %start size 8 stride 64
    %line = rmem.hold @rmem.section.nodes, %node, %turns size 8 stride 64
    %more = scf.for unsigned %i = %none to %turns step %one iter_args(%part = %sum) -> (i64) : i64 {
      %here = llvm.getelementptr %line[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<8 x i64>
      %value = llvm.load %here : !llvm.ptr -> i64
      %next = llvm.add %part, %value : i64
      scf.yield %next : i64
    }
    rmem.let_go @rmem.section.nodes, %line
    rmem.done @rmem.section.nodes, %node, %turns of %count stride 64
    %next = arith.addi %at, %turns : i64
    scf.yield %next, %more : i64, i64
  }
  llvm.return %result#1 : i64
}

// Values, and ranges, to and from plain memory.
llvm.func @exchange(%at: !llvm.ptr, %value: i64) -> i64 {
  %old = rmem.load @rmem.section.nodes, %at align 8 : i64
  rmem.store @rmem.section.nodes, %value, %at align 8 : i64
  llvm.return %old : i64
}
llvm.func @copy_out(%to: !llvm.ptr, %from: !llvm.ptr, %size: i64) {
  rmem.move to %to, from @rmem.section.nodes %from, %size
  llvm.return
}
llvm.func @copy_in(%to: !llvm.ptr, %from: !llvm.ptr, %size: i64) {
  rmem.move to @rmem.section.nodes %to, from %from, %size
  llvm.return
}
llvm.func @clear(%at: !llvm.ptr, %byte: i8, %size: i64) {
  rmem.fill @rmem.section.nodes, %at, %byte, %size
  llvm.return
}
llvm.func @send_for_next(%at: !llvm.ptr) {
  rmem.follow @rmem.section.nodes, %at
  llvm.return
}
