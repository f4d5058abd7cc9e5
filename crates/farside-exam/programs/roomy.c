// Kinds, for which there is room in little memory, and nodes of them, for which there is not: both are used here and there.
#include <stdio.h>
#include <stdlib.h>

struct node {
  long kind, uses, pad[14];
};

__attribute__((noinline)) static long *new_kinds(long count) {
  long *kinds = malloc(count * sizeof(long));
  for (long at = 0; at < count; at++)
    kinds[at] = at * 7;
  return kinds;
}

__attribute__((noinline)) static struct node *new_nodes(long count, long kinds) {
  struct node *nodes = malloc(count * sizeof(struct node));
  for (long at = 0; at < count; at++) {
    nodes[at].kind = at * 31 % kinds;
    nodes[at].uses = 0;
  }
  return nodes;
}

int main(int count, char **arguments) {
  if (count != 4)
    return 2;
  long nodes = atol(arguments[1]), kinds = atol(arguments[2]), turns = atol(arguments[3]);
  long *of_kind = new_kinds(kinds);
  struct node *all = new_nodes(nodes, kinds);
  unsigned long random = 1, sum = 0;
  for (long turn = 0; turn < turns; turn++) {
    random = random * 6364136223846793005UL + 1442695040888963407UL;
    struct node *node = &all[(random >> 33) % nodes];
    node->uses++;
    sum += of_kind[node->kind] + node->uses;
  }
  printf("%lu\n", sum);
}
