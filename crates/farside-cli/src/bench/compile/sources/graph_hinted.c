/* graph.c with hints by hand: a block of edges is looked at before it is gone through. */
#include "measured.h"

#include <farside.h>

struct node {
    long value;
    long visits;
    char rest[112];
};

struct edge {
    struct node *from, *to;
};

/* Edges whose nodes are sent for together. */
enum { BLOCK = 16 };

static void update_node(struct node *from, struct node *to) {
    to->value += from->value ^ to->visits;
    from->visits++;
    to->visits++;
}

/* Sends for the nodes of so many edges. */
static void send_for(const struct edge *edges, long count) {
    const void *addresses[2 * BLOCK];
    for (long i = 0; i < count; i++) {
        addresses[2 * i] = edges[i].from;
        addresses[2 * i + 1] = edges[i].to;
    }
    farside_ahead(addresses, 2 * (size_t)count);
}

static void traverse_graph(const struct edge *edges, long count) {
    for (long block = 0; block < count; block += BLOCK) {
        const long end = block + BLOCK < count ? block + BLOCK : count;
        const long next = end + BLOCK < count ? end + BLOCK : count;
        farside_hint(&edges[block], .ahead = 4, .sequential = 1);
        send_for(&edges[end], next - end);
        for (long i = block; i < end; i++) update_node(edges[i].from, edges[i].to);
    }
}

int main(int argc, char **argv) {
    long node_count = argument(argc, argv, 1, 500000), edge_count = argument(argc, argv, 2, 2000000);
    struct node *nodes = there(calloc(node_count, sizeof *nodes));
    struct edge *edges = there(malloc(edge_count * sizeof *edges));
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
