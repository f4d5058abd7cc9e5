// Pointers that a loop loads lead to another section: to null, to what was freed and is not looked at, and past the end.
// RUN: %remote %S/Inputs/leads.toml %s
// RUN: farside-cc -O2 -c -Rfarside -fno-farside-link -fsections=%S/Inputs/leads.toml %s -o %t.o 2>&1 | FileCheck %s
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 5000 };

struct item {
  long value, uses;
  char rest[48];
};

static struct item *new_item(long value) {
  // CHECK-DAG: leads.c:[[@LINE+1]]: remark: what is allocated here goes to the section 'items'
  struct item *item = malloc(sizeof *item);
  item->value = value;
  item->uses = 0;
  return item;
}

// CHECK-DAG: leads.c:[[@LINE+1]]: remark: what is allocated here goes to the section 'lists'
static struct item **new_list(int count) { return calloc(count, sizeof(struct item *)); }

__attribute__((noinline)) static long sum_of(struct item **list, int count) {
  long sum = 0;
  for (int i = 0; i < count; i++) {
    sum = sum * 31 + list[i]->value;
    list[i]->uses++;
  }
  return sum;
}

__attribute__((noinline)) static long sum_of_some(struct item **list, const unsigned char *lives, int count) {
  long sum = 0;
  for (int i = 0; i < count; i++) {
    struct item *item = list[i];
    if (lives[i])
      sum += item->value + item->uses;
  }
  return sum;
}

__attribute__((noinline)) static long backwards(struct item **list, int count) {
  long sum = 0;
  for (int i = count - 1; i >= 0; i--)
    sum = sum * 7 + list[i]->value;
  return sum;
}

int main(void) {
  struct item **list = new_list(COUNT);
  static unsigned char lives[COUNT];
  unsigned seed = 1;
  for (int i = 0; i < COUNT; i++)
    list[i] = new_item(i);
  for (int i = 0; i < COUNT; i++) {
    seed = seed * 1103515245 + 12345;
    int other = seed / 65536 % COUNT;
    struct item *item = list[i];
    list[i] = list[other];
    list[other] = item;
  }
  for (int round = 0; round < 3; round++)
    printf("%ld %ld\n", sum_of(list, COUNT), backwards(list, COUNT));
  for (int i = 0; i < COUNT; i++) {
    lives[i] = i % 3 != 0;
    if (lives[i])
      continue;
    free(list[i]);
    if (i % 2)
      list[i] = NULL;
  }
  printf("%ld\n", sum_of_some(list, lives, COUNT));
  for (int i = 0; i < COUNT; i++)
    if (lives[i])
      free(list[i]);
  free(list);
  return 0;
}
