// Loops in which pointers count hold lines as those do that count in numbers.
// RUN: %remote %S/Inputs/walks.toml %s
// RUN: farside-cc -O2 -fsections=%S/Inputs/walks.toml -emit-rmem %s -o - | FileCheck %s
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 20000 };

struct record {
  char key;
  short value;
  char rest[9];
};

static int *new_numbers(long count) { return malloc(count * sizeof(int)); }
static struct record *new_records(long count) { return calloc(count, sizeof(struct record)); }

// CHECK-LABEL: llvm.func {{.*}}@fill(
// CHECK: rmem.hold @rmem.section.numbers
__attribute__((noinline)) static void fill(int *at, long count) {
  while (count--)
    *at++ = (int)(count * 7 % 1001);
}

// CHECK-LABEL: llvm.func {{.*}}@sum(
// CHECK: rmem.hold @rmem.section.numbers
__attribute__((noinline)) static long sum(const int *at, const int *end) {
  long all = 0;
  while (at != end)
    all = all * 3 + *at++;
  return all;
}

// CHECK-LABEL: llvm.func {{.*}}@back(
// CHECK: rmem.hold @rmem.section.numbers
__attribute__((noinline)) static long back(const int *begin, const int *at) {
  long all = 0;
  do
    all = all * 5 + *--at;
  while (at != begin);
  return all;
}

// CHECK-LABEL: llvm.func {{.*}}@below(
// CHECK: rmem.hold @rmem.section.numbers
__attribute__((noinline)) static long below(const int *at, const int *end) {
  long all = 0;
  for (; at < end; at += 3)
    all = all * 7 + *at;
  return all;
}

// CHECK-LABEL: llvm.func {{.*}}@move(
// CHECK: rmem.hold @rmem.section.numbers
__attribute__((noinline)) static void move(int *to, const int *from, const int *end) {
  for (; from != end; from++, to--)
    *to = *from + (int)(end - from);
}

// CHECK-LABEL: llvm.func {{.*}}@records(
// CHECK: rmem.hold @rmem.section.records
__attribute__((noinline)) static long records(struct record *at, const struct record *end) {
  long all = 0;
  for (; at != end; at++) {
    at->value += (short)(all % 17);
    at->key = (char)(at->value % 23);
    all = all * 3 + at->key;
  }
  return all;
}

// The end is between two numbers, and the loop is left otherwise.
__attribute__((noinline)) static long until(const char *at, const char *end, long last) {
  long all = 0;
  for (;; at += 4) {
    int number = *(const int *)at;
    all = all * 3 + number;
    if (number == last || at == end)
      return all;
  }
}

__attribute__((noinline)) static void stop_at(const char *at, const char *end, long turns) {
  do {
    if (!turns--) {
      printf("stopped at %d\n", *(const int *)at);
      exit(0);
    }
    at += 4;
  } while (at != end);
}

int main(void) {
  int *some = new_numbers(COUNT), *others = new_numbers(COUNT);
  struct record *all = new_records(COUNT);
  fill(some, COUNT);
  fill(others, COUNT);
  printf("%ld %ld\n", sum(some, some + COUNT), sum(others, others));
  printf("%ld %ld\n", back(some, some + COUNT), back(others + 5, others + 6));
  printf("%ld %ld\n", below(some, some + COUNT), below(others + 9, others + 3));
  move(others + COUNT - 1, some, some + COUNT);
  move(some + COUNT / 2, some, some + COUNT / 4);
  printf("%ld %ld\n", sum(some, some + COUNT), sum(others, others + COUNT));
  printf("%ld\n", records(all, all + COUNT));
  printf("%ld\n", records(all + 7, all + COUNT - 7));
  printf("%ld\n", until((char *)some, (char *)some + 4002, some[700]));
  stop_at((char *)some, (char *)some + 4002, 900);
  return 0;
}
