// The next node of a list is sent for while the program is at one.
// RUN: %remote %S/Inputs/chase.toml %s
// RUN: farside-cc -O2 -fsections=%S/Inputs/chase.toml -emit-rmem %s -o - | FileCheck %s
// CHECK-LABEL: llvm.func {{.*}}@at_leisure(
// CHECK: rmem.follow @rmem.section.nodes
// CHECK-LABEL: llvm.func {{.*}}@hurried(
// CHECK-NOT: rmem.follow
// CHECK-LABEL: llvm.func {{.*}}@until(
// CHECK: rmem.follow @rmem.section.nodes
// CHECK-LABEL: llvm.func {{.*}}@free_all(
// CHECK: rmem.follow @rmem.section.nodes
#include <stdio.h>
#include <stdlib.h>

struct node {
  long value;
  struct node *next;
  long more[6];
};

static struct node *make(long value) {
  struct node *node = malloc(sizeof *node);
  node->value = value;
  node->next = NULL;
  return node;
}

// Nodes lie in one order, and follow one another in another one.
static struct node *list(long count) {
  struct node **all = malloc(count * sizeof *all), *head = NULL;
  for (long i = 0; i < count; i++)
    all[i] = make(i);
  for (long i = 0; i < count; i++) {
    struct node *node = all[i * 7919 % count];
    node->next = head;
    head = node;
  }
  free(all);
  return head;
}

__attribute__((noinline)) static unsigned long at_leisure(const struct node *node, int turns) {
  unsigned long all = 0;
  for (; node; node = node->next) {
    unsigned long value = node->value;
    for (int i = 0; i < turns; i++)
      value = value * 31 + (value >> 7);
    all += value;
  }
  return all;
}

static long table[64] = {3, 1, 4, 1, 5};

// The end of the program may come at any node.
__attribute__((noinline)) static unsigned long until(const struct node *node, long last, int turns) {
  unsigned long all = 0;
  while (node) {
    if (node->value == last) {
      printf("%lu\n", all);
      exit(3);
    }
    for (int i = 0; i < turns; i++)
      all = all * 3 + (node->value ^ table[all % 64]);
    node = node->next;
  }
  return all;
}

__attribute__((noinline)) static unsigned long hurried(const struct node *node) {
  unsigned long all = 0;
  for (; node; node = node->next)
    all = all * 5 + node->value;
  return all;
}

__attribute__((noinline)) static void free_all(struct node *node) {
  while (node) {
    struct node *next = node->next;
    free(node);
    node = next;
  }
}

int main(void) {
  struct node *some = list(20000), *others = list(5000);
  printf("%lu\n", at_leisure(some, 50));
  printf("%lu\n", hurried(some));
  printf("%lu\n", until(some, -1, 3));
  free_all(some);
  until(others, 1234, 2);
  return 0;
}
