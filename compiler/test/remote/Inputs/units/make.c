#include <stdlib.h>
#include "nodes.h"
struct node *last;
struct graph *make(int many, int count) {
  struct graph *g = malloc(sizeof *g);
  g->nodes = calloc(many, sizeof *g->nodes);
  g->edges = malloc(count * sizeof *g->edges);
  g->many = many; g->count = count;
  unsigned seed = 1;
  for (int i = 0; i < count; i++) {
    seed = seed * 1103515245 + 12345; g->edges[i].from = &g->nodes[(seed >> 8) % many];
    seed = seed * 1103515245 + 12345; g->edges[i].to = &g->nodes[(seed >> 8) % many];
    last = g->edges[i].to;
  }
  for (int i = 0; i < many; i++) g->nodes[i].value = i;
  return g;
}
void drop(struct graph *g) { free(g->nodes); free(g->edges); free(g); }
