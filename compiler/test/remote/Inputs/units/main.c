#include <stdio.h>
#include "nodes.h"
int main(void) {
  struct graph *g = make(3000, 20000);
  for (int r = 0; r < 3; r++) traverse(g->edges, g->count);
  unsigned long sum = 0;
  for (int i = 0; i < g->many; i++) sum = sum * 31 + g->nodes[i].value + g->nodes[i].visits;
  printf("%lu %ld\n", sum, last->visits); drop(g); return 0;
}
