// What cannot be converted is an error: left as it is, the program would be wrong.
// RUN: farside-opt %s -split-input-file -verify-diagnostics --farside-to-remote

rmem.cache_section @nodes capacity 65536 line 128 ways 2 ahead 8
llvm.func @volatile(%at: !llvm.ptr) -> i32 {
  // expected-error@+1 {{is volatile or atomic, and cannot be converted to remote memory}}
  %value = llvm.load volatile %at {rmem.in = @nodes} : !llvm.ptr -> i32
  llvm.return %value : i32
}

// -----

rmem.cache_section @nodes capacity 65536 line 128 ways 2 ahead 8
llvm.func @strlen(!llvm.ptr) -> i64
llvm.func @called(%at: !llvm.ptr) -> i64 {
  // expected-error@+1 {{cannot be converted to remote memory}}
  %length = llvm.call @strlen(%at) {rmem.in = @nodes} : (!llvm.ptr) -> i64
  llvm.return %length : i64
}

// -----

rmem.cache_section @nodes capacity 65536 line 128 ways 2 ahead 8
llvm.func @strlen(!llvm.ptr) -> i64
llvm.func @nothing_lent(%at: !llvm.ptr) -> i64 {
  // expected-error@+1 {{does not say what is lent to it}}
  %length = llvm.call @strlen(%at) {rmem.in = @nodes, rmem.borrows = array<i32: 0, -1>} : (!llvm.ptr) -> i64
  llvm.return %length : i64
}

// -----

rmem.cache_section @nodes capacity 65536 line 128 ways 2 ahead 8
llvm.func @strlen(!llvm.ptr) -> i64
llvm.func @other_argument(%at: !llvm.ptr) -> i64 {
  // expected-error@+1 {{has no such argument}}
  %length = llvm.call @strlen(%at) {rmem.in = @nodes, rmem.borrows = array<i32: 0, 1, -1, 0>} : (!llvm.ptr) -> i64
  llvm.return %length : i64
}
