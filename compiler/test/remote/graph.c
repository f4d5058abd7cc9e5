// Edges one after another, nodes here and there, each in a section of its own that is smaller than they are.
// RUN: %remote %S/Inputs/graph.toml %s
// RUN: farside-cc -O1 -c -Rfarside -fno-farside-link -fsections=%S/Inputs/graph.toml %s -o %t.o 2>&1 | FileCheck %s
#include <stdio.h>
#include <stdlib.h>

struct node {
  long value;
  long visits;
  char rest[112];
};
struct edge {
  struct node *from, *to;
};

static struct node *nodes;
static struct edge *edges;

static void update_node(struct node *from, struct node *to) {
  to->value += from->value ^ to->visits;
  from->visits++;
  to->visits++;
}

__attribute__((noinline)) static void traverse(const struct edge *list, int count) {
  for (int i = 0; i < count; i++)
    update_node(list[i].from, list[i].to);
}

__attribute__((noinline)) static void make(int many, int count) {
  // CHECK: graph.c:[[@LINE+1]]: remark: what is allocated here goes to the section 'nodes'
  nodes = calloc(many, sizeof *nodes);
  // CHECK: graph.c:[[@LINE+1]]: remark: what is allocated here goes to the section 'edges'
  edges = malloc(count * sizeof *edges);
}

int main(void) {
  int many = 3000, count = 20000;
  make(many, count);
  unsigned seed = 1;
  for (int i = 0; i < many; i++)
    nodes[i].value = i * 31 % 101;
  for (int i = 0; i < count; i++) {
    seed = seed * 1103515245 + 12345;
    edges[i].from = &nodes[seed / 65536 % many];
    edges[i].to = &nodes[seed / 7919 % many];
  }
  for (int round = 0; round < 3; round++)
    traverse(edges, count);
  long sum = 0;
  for (int i = 0; i < many; i++)
    sum = sum * 33 + nodes[i].value + nodes[i].visits;
  printf("%ld\n", sum);
  free(edges);
  free(nodes);
  return 0;
}
