// RUN: farside-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{has lines of 100 bytes}}
rmem.cache_section @odd capacity 65536 line 100 ways 2 ahead 8

// -----

// expected-error@+1 {{has no room for one set of lines}}
rmem.cache_section @small capacity 128 line 128 ways 2 ahead 8

// -----

llvm.func @nowhere(%size: i64) {
  // expected-error@+1 {{is of the section @nodes, which there is not}}
  %block = remotable.alloc @nodes, %size
  llvm.return
}

// -----

rmem.cache_section @nodes capacity 65536 line 128 ways 2 ahead 8
llvm.func @crooked(%block: !llvm.ptr) {
  // expected-error@+1 {{has an alignment of 3, which is no power of two}}
  %value = rmem.load @nodes, %block align 3 : i32
  llvm.return
}

// -----

llvm.func @neither(%one: !llvm.ptr, %other: !llvm.ptr, %size: i64) {
  // expected-error@+1 {{has no section}}
  rmem.move to %one, from %other, %size
  llvm.return
}

// -----

rmem.cache_section @nodes capacity 65536 line 128 ways 2 ahead 8
llvm.func @wide(%block: !llvm.ptr) {
  // expected-error@+1 {{uses 0 bytes, which are those of no line}}
  %address = rmem.deref @nodes, %block size 0
  llvm.return
}

// -----

// expected-error@+1 {{has the attribute "remotable.twice", which there is not}}
llvm.func @twice() attributes {remotable.twice}

// -----

// expected-error@+1 {{has the attribute remotable.offload, which is one of functions, and has no value}}
llvm.func @valued() attributes {remotable.offload = 3 : i32}

// -----

rmem.cache_section @nodes capacity 65536 line 128 ways 2 ahead 8
llvm.func @odd_record() {
  // expected-error@+1 {{has records of 48 bytes, of which a line is no multiple}}
  %selected = rmem.select @nodes record 48 fields [0, 8]
  llvm.return
}

// -----

rmem.cache_section @nodes capacity 65536 line 128 ways 2 ahead 8
llvm.func @long_record() {
  // expected-error@+1 {{has records that are longer than a line}}
  %selected = rmem.select @nodes record 256 fields [0, 8]
  llvm.return
}

// -----

rmem.cache_section @nodes capacity 65536 line 128 ways 2 ahead 8
llvm.func @half_a_field() {
  // expected-error@+1 {{has no fields with a start and a length each}}
  %selected = rmem.select @nodes record 64 fields [0, 8, 16]
  llvm.return
}

// -----

rmem.cache_section @nodes capacity 65536 line 128 ways 2 ahead 8
llvm.func @disorder() {
  // expected-error@+1 {{has fields that are not in order, or go beyond their record}}
  %selected = rmem.select @nodes record 64 fields [8, 8, 0, 4]
  llvm.return
}

// -----

rmem.cache_section @nodes capacity 65536 line 128 ways 2 ahead 8
llvm.func @endless(%at: !llvm.ptr) {
  // expected-error@+1 {{has no end}}
  %lent = rmem.borrow @nodes %at
  llvm.return
}

// -----

rmem.cache_section @nodes capacity 65536 line 128 ways 2 ahead 8
llvm.func @copied_text(%at: !llvm.ptr) {
  // expected-error@+1 {{is copied, and its length is not known}}
  %lent = rmem.borrow @nodes %at text copied
  llvm.return
}
