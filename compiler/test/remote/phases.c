// Two phases: nodes with edges, then rows with edges; nodes and rows share memory, each as much as there is (thesis, figure 3.7).
// RUN: %remote %S/Inputs/phases.toml %s
// RUN: farside-cc -O2 -c -Rfarside -fno-farside-link -fsections=%S/Inputs/phases.toml %s -o %t.o 2>&1 | FileCheck %s
#include <stdio.h>
#include <stdlib.h>

struct node {
  long value, visits;
  char rest[112];
};
struct edge {
  int from, to;
};

enum { NODES = 6000, ROWS = 40000, EDGES = 30000 };

static struct node *nodes;
static struct edge *edges;
static long *rows;

__attribute__((noinline)) static void make(void) {
  // CHECK: phases.c:[[@LINE+1]]: remark: what is allocated here goes to the section 'nodes'
  nodes = calloc(NODES, sizeof *nodes);
  // CHECK: phases.c:[[@LINE+1]]: remark: what is allocated here goes to the section 'edges'
  edges = malloc(EDGES * sizeof *edges);
  // CHECK: phases.c:[[@LINE+1]]: remark: what is allocated here goes to the section 'rows'
  rows = calloc(ROWS, 8 * sizeof *rows);
}

__attribute__((noinline)) static void traverse(void) {
  for (int i = 0; i < EDGES; i++) {
    nodes[edges[i].to].value += nodes[edges[i].from].value ^ i;
    nodes[edges[i].from].visits++;
  }
}

__attribute__((noinline)) static void third(void) {
  for (int i = 0; i < EDGES; i++)
    rows[8 * ((edges[i].from * 7 + i) % ROWS)] += edges[i].to;
}

// Both at once: what is copied from one to the other, line by line.
__attribute__((noinline)) static void both(void) {
  for (int i = 0; i < 200; i++) {
    rows[8 * i] += nodes[NODES - 1 - i].value;
    nodes[i].visits += rows[8 * (ROWS - 1 - i)];
  }
}

int main(void) {
  unsigned seed = 1;
  make();
  for (int i = 0; i < NODES; i++)
    nodes[i].value = i * 31 % 101;
  for (int i = 0; i < EDGES; i++) {
    seed = seed * 1103515245 + 12345;
    edges[i].from = seed / 65536 % NODES;
    edges[i].to = seed / 7919 % NODES;
  }
  for (int round = 0; round < 3; round++)
    traverse();
  for (int round = 0; round < 3; round++)
    third();
  both();
  long sum = 0;
  for (int i = 0; i < NODES; i++)
    sum = sum * 33 + nodes[i].value + nodes[i].visits;
  for (int i = 0; i < ROWS; i++)
    sum = sum * 31 + rows[8 * i];
  printf("%ld\n", sum);
  free(edges);
  free(nodes);
  free(rows);
  return 0;
}
