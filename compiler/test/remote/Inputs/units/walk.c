#include "nodes.h"
void traverse(const struct edge *list, int count) {
  for (int i = 0; i < count; i++) update_node(list[i].from, list[i].to);
}
