// What cannot be followed stays where it was, and it is said why.
// RUN: %remote %S/Inputs/stays.toml %s
// RUN: farside-cc -O1 -c -Rfarside -fno-farside-link -fsections=%S/Inputs/stays.toml %s -o %t.o 2>&1 | FileCheck %s
#include <search.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long *shown;
static long *hidden;

__attribute__((noinline)) static char *text(void) {
  // CHECK-DAG: stays.c:[[@LINE+1]]: remark: what is allocated here does not go to the section 'all': it is passed to or comes from 'strtok', which is not compiled here ({{.*}}stays.c:{{[0-9]+}})
  return malloc(100);
}
__attribute__((noinline)) static long *known(void) {
  // CHECK-DAG: stays.c:[[@LINE+1]]: remark: {{.*}} does not go to the section 'all': it is in the variable 'shown'
  return malloc(100);
}
__attribute__((noinline)) static long *numbered(void) {
  // CHECK-DAG: stays.c:[[@LINE+1]]: remark: {{.*}} does not go to the section 'all': its address is computed with as a number
  return malloc(100);
}
__attribute__((noinline)) static long *counted(void) {
  // CHECK-DAG: stays.c:[[@LINE+1]]: remark: {{.*}} does not go to the section 'all': it is accessed in one piece by several threads
  return malloc(100);
}
__attribute__((noinline)) static long *moving(void) {
  // CHECK-DAG: stays.c:[[@LINE+1]]: remark: what is allocated here goes to the section 'all'
  return malloc(100);
}
__attribute__((noinline)) static long **pointers(void) {
  // CHECK-DAG: stays.c:[[@LINE+1]]: remark: what is allocated here goes to the section 'all'
  return malloc(100);
}
// It is found out by a function that is not here.
__attribute__((noinline)) static long *sorted(void) {
  // CHECK-DAG: stays.c:[[@LINE+1]]: remark: {{.*}} does not go to the section 'all': it is passed to or comes from 'lfind'
  return malloc(10 * sizeof(long));
}
static int compare(const void *one, const void *other) {
  return (*(const long *)one > *(const long *)other) - (*(const long *)one < *(const long *)other);
}

int main(int count, char **arguments) {
  char *words = text();
  strcpy(words, "some words");
  puts(strtok(words, "s"));
  shown = known();
  shown[3] = 4;
  long *number = numbered();
  *number = 5;
  volatile uintptr_t key = 8;
  uintptr_t locked = (uintptr_t)number ^ key;
  number = (long *)(locked ^ key);
  long *counter = counted();
  *counter = 0;
  __atomic_fetch_add(counter, 3, __ATOMIC_SEQ_CST);
  hidden = moving();
  hidden[1] = 6;
  long **table = pointers();
  table[2] = hidden;
  *table[2] = 9;
  long *order = sorted();
  size_t ten = 10;
  for (int i = 0; i < 10; i++)
    order[i] = i * 7;
  printf("%ld %ld %ld %ld %ld %ld\n", shown[3], *number, *counter, table[2][1], hidden[0], *(long *)lfind(&order[4], order, &ten, sizeof *order, compare));
  return 0;
}
