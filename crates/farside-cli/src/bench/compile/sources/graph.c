/*
 * A graph that is gone through edge by edge, each of which changes the two nodes that it joins: graph NODES EDGES
 * (figure 3.1 of the thesis on Mira).
 */
#include "measured.h"

struct node {
    long value;
    long visits;
    char rest[112];
};

struct edge {
    struct node *from, *to;
};

static struct node *new_nodes(long count) {
    return there(calloc(count, sizeof(struct node)));
}

static struct edge *new_edges(long count) {
    return there(malloc(count * sizeof(struct edge)));
}

static void update_node(struct node *from, struct node *to) {
    to->value += from->value ^ to->visits;
    from->visits++;
    to->visits++;
}

static void traverse_graph(const struct edge *edges, long count) {
    for (long i = 0; i < count; i++) update_node(edges[i].from, edges[i].to);
}

int main(int argc, char **argv) {
    long node_count = argument(argc, argv, 1, 500000), edge_count = argument(argc, argv, 2, 2000000);
    struct node *nodes = new_nodes(node_count);
    struct edge *edges = new_edges(edge_count);
    uint64_t state = 1;
    for (long i = 0; i < node_count; i++) nodes[i].value = i * 31 % 101;
    for (long i = 0; i < edge_count; i++) {
        edges[i].from = &nodes[draw(&state) % node_count];
        edges[i].to = &nodes[draw(&state) % node_count];
    }
    double begin = now();
    traverse_graph(edges, edge_count);
    took(begin);
    unsigned long all = 0;
    for (long i = 0; i < node_count; i++) all = all * 33 + (unsigned long)(nodes[i].value + nodes[i].visits);
    printf("%lx\n", all);
    free(edges);
    free(nodes);
    return 0;
}
