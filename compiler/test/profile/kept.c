// Functions that are inlined, and that could run where their data is, stay functions in programs that are profiled, so that
// it is known what they cost; others are inlined.
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: clang -O2 %s -o plain
// RUN: ./plain > expected
// RUN: farside-cc -O2 -ffarside-profile %s -o program
// RUN: %S/Inputs/candidates show program | grep ^function | sort | FileCheck %s
// RUN: env FARSIDE_PROFILE=made.json ./program | cmp expected -
// RUN: %S/Inputs/profile show made.json | FileCheck %s --check-prefix=COUNT
// The same of what is converted when it is compiled, and of several units.
// RUN: farside-cc -O2 -fno-farside-link -ffarside-whole-program -ffarside-profile %s -o alone
// RUN: %S/Inputs/candidates show alone | grep ^function | sort | FileCheck %s
// RUN: env FARSIDE_PROFILE=alone.json ./alone | cmp expected -
// RUN: farside-cc -O2 -ffarside-profile -DUNIT=1 -c %s -o 1.o
// RUN: farside-cc -O2 -ffarside-profile -DUNIT=2 -c %s -o 2.o
// RUN: farside-cc -O2 -ffarside-profile 1.o 2.o -o linked
// RUN: %S/Inputs/candidates show linked | grep ^function | sort | FileCheck %s
// RUN: env FARSIDE_PROFILE=linked.json ./linked | cmp expected -
// RUN: %S/Inputs/profile show linked.json | FileCheck %s --check-prefix=COUNT
// Where nothing is profiled, all of it is inlined.
// RUN: farside-cc -O2 -g %s -o other
// RUN: llvm-nm other | not grep -w total
// RUN: llvm-nm program | grep -w total

// CHECK: function above calls [] runs where its data is
// CHECK-NEXT: function inside calls [] runs where its data is
// CHECK-NEXT: function main calls ['above', 'total', 'inside']
// CHECK-NEXT: function total calls [] runs where its data is
// CHECK-NOT: {{.}}
// COUNT-DAG: function total kept.c calls 20
// COUNT-DAG: function above kept.c calls 1
#include <stdio.h>
#include <stdlib.h>

struct row {
  long key, value, rest[6];
};

struct row *make(long count);
long above(const struct row *rows, long count, long least);
long query(struct row *rows, long count);

#if !defined UNIT || UNIT == 1
// A part of what total() does.
static long weight(const struct row *row, long times) {
  long sum = row->value;
  for (long i = 0; i < times; i++)
    sum = sum * 3 + row->rest[i];
  return sum;
}

static long total(const struct row *rows, long count) {
  long sum = 0;
  for (long i = 0; i < count; i++)
    sum += weight(&rows[i], rows[i].key % 6);
  return sum;
}

// Its own memory is all that it reads.
static long sum_of(const long *numbers, long count) {
  long sum = 0;
  for (long i = 0; i < count; i++)
    sum = sum * 5 + numbers[i];
  return sum;
}

static void change(struct row *rows, long count, long by) {
  for (long i = 0; i < count; i++)
    rows[i].value += by * i;
}

static long few(const struct row *rows) {
  long sum = 0;
  for (long i = 0; i < 6; i++)
    sum = sum * 7 + rows[i].value;
  return sum;
}

// What searches is called often.
static long place_of(const struct row *rows, long count, long key) {
  for (long i = 0; i < count; i++)
    if (rows[i].key == key)
      return i;
  return -1;
}

// What it is passed of local memory goes with it.
struct range {
  long from, to, sign;
};
static long inside(const struct row *rows, struct range range) {
  long sum = 0;
  for (long i = range.from; i < range.to; i++)
    sum += rows[i].value ^ i;
  return sum * range.sign;
}

static long differences(const struct row *rows, long count, long key) {
  long sum = 0;
  for (long i = 0; i < count; i++)
    sum += rows[i].key > key ? rows[i].key - key : key - rows[i].key;
  return sum;
}

// What it is called with at one place need not be what it is called with at another.
static long largest(const struct row *rows, long count) {
  long most = 0;
  for (long i = 0; i < count; i++)
    most = rows[i].key > most ? rows[i].key : most;
  return most;
}

long query(struct row *rows, long count) {
  long all[20], sum = 0;
  for (long i = 0; i < 20; i++) {
    all[i] = total(rows, count - i);
    change(rows, count, i);
  }
  sum = sum_of(all, count % 20) + place_of(rows, count, 77);
  for (long i = 0; i < 10; i++)
    for (long j = 0; j < i; j++)
      sum = sum * 3 + differences(rows + j, 100 + i, i * 100 + j);
  sum += inside(rows, (struct range){10, count, -1});
  return sum + few(rows) + largest(rows, count) + largest(rows + 10, count - 10);
}
#endif

#if !defined UNIT || UNIT == 2
struct row *make(long count) {
  struct row *rows = calloc(count, sizeof *rows);
  for (long i = 0; i < count; i++)
    rows[i].key = i * 7919 % count, rows[i].value = i;
  return rows;
}

long above(const struct row *rows, long count, long least) {
  long found = 0;
  for (long i = 0; i < count; i++)
    found += rows[i].key > least;
  return found;
}

int main(int arguments, char **texts) {
  long count = 1000 + arguments;
  struct row *rows = make(count);
  printf("%ld %ld\n", above(rows, count, 500), query(rows, count));
  free(rows);
}
#endif
