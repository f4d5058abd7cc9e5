// Addresses that are moved as numbers lead to the same memory, or to what that was copied to: lists whose array grows, with links
// that are set anew by how far it has moved; places that are told from a base. What is made of two addresses otherwise stays.
// RUN: %remote %S/Inputs/rebased.toml %s
// RUN: farside-cc -O2 -Rfarside -fsections=%S/Inputs/rebased.toml %s -o /dev/null 2>&1 | FileCheck %s
// CHECK-DAG: rebased.c:[[#@LINE+13]]:{{.*}}what is allocated here goes to the section 'grown'
// CHECK-DAG: rebased.c:[[#@LINE+32]]:{{.*}}what is allocated here goes to the section 'told'
// CHECK-DAG: rebased.c:[[#@LINE+47]]:{{.*}}what is allocated here does not go to the section 'mixed'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
  struct node *next;
  long value;
};

static struct node *new_nodes(long count) {
  return malloc(count * sizeof(struct node));
}

__attribute__((noinline)) static struct node *grow(struct node *nodes, long count, long more) {
  struct node *moved = new_nodes(count + more);
  uintptr_t before = (uintptr_t)nodes, now = (uintptr_t)moved;
  for (long i = 0; i < count; i++) {
    moved[i] = nodes[i];
    if (moved[i].next)
      moved[i].next = (struct node *)((uintptr_t)moved[i].next - before + now);
  }
  free(nodes);
  for (long i = count; i < count + more; i++) {
    moved[i].next = i ? &moved[i * 7 % i] : NULL;
    moved[i].value = i * 31 % 1009;
  }
  return moved;
}

static char *new_bytes(long size) {
  return malloc(size);
}

__attribute__((noinline)) static unsigned long told(long size) {
  char *bytes = new_bytes(size);
  uintptr_t end = (uintptr_t)bytes + (uintptr_t)size, at = (uintptr_t)bytes;
  unsigned long sum = 0;
  for (; at < end; at += 3)
    *(char *)at = (char)(end - at);
  for (at = end - 3; at >= (uintptr_t)bytes; at -= 3)
    sum = sum * 33 + (unsigned char)*(char *)at;
  free(bytes);
  return sum;
}

static long *new_mixed(long count) {
  return calloc(count, sizeof(long));
}

// Each leads to the other one only with the help of both.
__attribute__((noinline)) static long mixed(long count) {
  long *one = new_mixed(count), *other = new_mixed(count), sum = 0;
  uintptr_t both = (uintptr_t)one ^ (uintptr_t)other;
  for (long i = 0; i < count; i++) {
    one[i] = i, other[i] = i * 3;
    long *at = (long *)(both ^ (uintptr_t)(i % 2 ? one : other));
    sum = sum * 5 + at[i];
  }
  free(one), free(other);
  return sum;
}

int main(void) {
  struct node *nodes = NULL;
  long count = 0;
  unsigned long sum = 0;
  for (long more = 1; more < 4000; more *= 2) {
    nodes = grow(nodes, count, more);
    count += more;
    for (long i = 0; i < count; i += 5)
      for (struct node *at = &nodes[i]; at; at = at->next)
        sum = sum * 31 + (unsigned long)at->value;
  }
  free(nodes);
  printf("%lu %lu %ld\n", sum, told(49998), mixed(3000));
  return 0;
}
