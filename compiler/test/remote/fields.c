// Of records of 128 bytes loops use few, here and there and in order, of blocks of all sizes; others use all of them, before and
// afterwards, and in between.
// RUN: env LOCAL=1300K %remote %S/Inputs/fields.toml %s
// RUN: farside-cc -O2 -g -Rfarside -fsections=%S/Inputs/fields.toml %s -o %t 2>&1 | FileCheck %s
#include <stdio.h>
#include <stdlib.h>

struct node {
  long key, visits;
  char rest[112];
};

// Nodes of a list are blocks of their own, which are no longer than a line.
struct item {
  struct item *next;
  long value;
  char rest[48];
};

enum { NODES = 8000, ITEMS = 5000, ROUNDS = 30000 };

static struct node *nodes;
static struct item *items;

__attribute__((noinline)) static void make(void) {
  nodes = malloc(NODES * sizeof *nodes);
  for (int i = 0; i < NODES; i++) {
    nodes[i].key = i * 31 % 101;
    nodes[i].visits = 0;
    for (int j = 0; j < 112; j++)
      nodes[i].rest[j] = i + j;
  }
}

__attribute__((noinline)) static void fill(struct item *item, int i) {
  for (int j = 0; j < 48; j++)
    item->rest[j] = i * j;
  item->value = i;
}

__attribute__((noinline)) static void list(void) {
  for (int i = 0; i < ITEMS; i++) {
    struct item *item = malloc(sizeof *item);
    fill(item, i);
    item->next = items;
    items = item;
  }
}

__attribute__((noinline)) static void visit(struct node *node, long by) { node->visits += by; }

__attribute__((noinline)) static void count(void) {
  unsigned seed = 1;
  // CHECK-DAG: fields.c:[[@LINE+1]]: remark: of the section 'nodes' only bytes 8-15 of 128 come and go in this loop
  for (int i = 0; i < ROUNDS; i++) {
    seed = seed * 1103515245 + 12345;
    visit(&nodes[seed / 65536 % NODES], i);
  }
}

// The outer loop is unrolled.
__attribute__((noinline)) static long keys(void) {
  long sum = 0;
  // CHECK-DAG: fields.c:[[@LINE+2]]: remark: of the section 'nodes' only bytes 0-7 of 128 come and go in this loop
  for (int round = 0; round < 3; round++)
    for (int i = 0; i < NODES; i++)
      sum = sum * 3 + nodes[i].key;
  return sum;
}

__attribute__((noinline)) static long values(void) {
  long sum = 0;
  // CHECK-DAG: fields.c:[[@LINE+1]]: remark: of the section 'items' only bytes 0-15 of 64 come and go in this loop
  for (struct item *at = items; at; at = at->next) {
    at->value ^= sum;
    sum = sum * 5 + at->value;
  }
  return sum;
}

// It is left in two ways, and called by a loop that selects.
__attribute__((noinline)) static long search(long key, int from) {
  for (int i = from; i < NODES; i++)
    if (nodes[i].key == key)
      return nodes[i].visits;
  return -1;
}

int main(void) {
  make();
  list();
  count();
  long sum = keys() + values();
  nodes[5].rest[7] = 3;
  for (int i = 0; i < 300; i++)
    sum = sum * 7 + search(i % 103, i * 20);
  sum += values();
  for (int i = 0; i < NODES; i++) {
    sum = sum * 33 + nodes[i].key + nodes[i].visits;
    for (int j = 0; j < 112; j++)
      sum += nodes[i].rest[j];
  }
  for (struct item *at = items; at; at = at->next) {
    sum = sum * 33 + at->value;
    for (int j = 0; j < 48; j++)
      sum += at->rest[j];
  }
  while (items) {
    struct item *gone = items;
    items = gone->next;
    free(gone);
  }
  printf("%ld\n", sum);
  free(nodes);
  return 0;
}
