#include "nodes.h"
void update_node(struct node *from, struct node *to) {
  to->value += from->value ^ to->visits; from->visits++; to->visits++;
}
