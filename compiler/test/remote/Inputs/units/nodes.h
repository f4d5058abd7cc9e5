struct node { long value, visits; char rest[112]; };
struct edge { struct node *from, *to; };
struct graph { struct node *nodes; struct edge *edges; int many, count; };
struct graph *make(int many, int count);
void traverse(const struct edge *list, int count);
void update_node(struct node *from, struct node *to);
void drop(struct graph *g);
extern struct node *last;
