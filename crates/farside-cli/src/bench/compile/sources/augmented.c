/*
 * The graph with a third array, which is gone through together with the nodes after the edges are: augmented NODES EDGES
 * THIRDS (figure 3.7 of the thesis on Mira).
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

struct third {
    long weight;
    char rest[120];
};

static struct node *new_nodes(long count) {
    return there(calloc(count, sizeof(struct node)));
}

static struct edge *new_edges(long count) {
    return there(malloc(count * sizeof(struct edge)));
}

static struct third *new_thirds(long count) {
    return there(calloc(count, sizeof(struct third)));
}

static void traverse_graph(const struct edge *edges, long count) {
    for (long i = 0; i < count; i++) {
        edges[i].to->value += edges[i].from->value ^ edges[i].to->visits;
        edges[i].from->visits++;
        edges[i].to->visits++;
    }
}

static void third_access(struct third *thirds, long third_count, struct node *nodes, long node_count, long count) {
    uint64_t state = 7;
    for (long i = 0; i < count; i++) {
        struct third *third = &thirds[draw(&state) % third_count];
        struct node *node = &nodes[draw(&state) % node_count];
        third->weight += node->value;
        node->visits++;
    }
}

int main(int argc, char **argv) {
    long node_count = argument(argc, argv, 1, 300000), edge_count = argument(argc, argv, 2, 1000000);
    long third_count = argument(argc, argv, 3, 300000);
    struct node *nodes = new_nodes(node_count);
    struct edge *edges = new_edges(edge_count);
    struct third *thirds = new_thirds(third_count);
    uint64_t state = 1;
    for (long i = 0; i < node_count; i++) nodes[i].value = i * 31 % 101;
    for (long i = 0; i < edge_count; i++) {
        edges[i].from = &nodes[draw(&state) % node_count];
        edges[i].to = &nodes[draw(&state) % node_count];
    }
    double begin = now();
    traverse_graph(edges, edge_count);
    third_access(thirds, third_count, nodes, node_count, edge_count);
    took(begin);
    unsigned long all = 0;
    for (long i = 0; i < node_count; i++) all = all * 33 + (unsigned long)(nodes[i].value + nodes[i].visits);
    for (long i = 0; i < third_count; i++) all = all * 33 + (unsigned long)thirds[i].weight;
    printf("%lx\n", all);
    free(thirds);
    free(edges);
    free(nodes);
    return 0;
}
