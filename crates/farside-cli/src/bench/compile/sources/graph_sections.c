/*
 * graph.c with sections by hand, as large as further arguments say: graph_sections NODES EDGES NODE-BYTES EDGE-BYTES.
 */
#include "measured.h"

#include <farside/section.h>

struct node {
    long value;
    long visits;
    char rest[112];
};

struct edge {
    farside_ptr from, to;
};

/* Edges from one whose nodes are used to the one whose nodes are sent for. */
enum { AHEAD = 32, EDGE_LINE = 4096, IN_LINE = EDGE_LINE / sizeof(struct edge) };

static struct farside_section node_section, edge_section;

static void open_sections(long node_bytes, long edge_bytes) {
    struct farside_section_options of_nodes = {"nodes", (size_t)node_bytes, 128, 2, 0};
    struct farside_section_options of_edges = {"edges", (size_t)edge_bytes, EDGE_LINE, FARSIDE_DIRECT, 0};
    farside_section_open(&node_section, &of_nodes);
    farside_section_open(&edge_section, &of_edges);
}

static void send_for(struct edge edge) {
    farside_fetch_if_absent(&node_section, edge.from);
    farside_fetch_if_absent(&node_section, edge.to);
}

static void update_nodes(struct edge edge) {
    struct node *from = farside_at_mut(&node_section, edge.from, sizeof *from), *to;
    const long value = from->value;
    /* The other may take this one's place. */
    from->visits++;
    to = farside_at_mut(&node_section, edge.to, sizeof *to);
    to->value += value ^ (to->visits - (edge.from == edge.to));
    to->visits++;
}

static void traverse_graph(farside_ptr edges, long count) {
    for (long line = 0; line < count; line += IN_LINE) {
        const farside_ptr here = edges + (farside_ptr)line * sizeof(struct edge), next = here + EDGE_LINE;
        const long last = count - line < IN_LINE ? count - line : IN_LINE;
        const long more = count - line - last < AHEAD ? count - line - last : AHEAD;
        const struct edge *pinned = farside_pin_line(&edge_section, here), *beyond = NULL;
        if (more > 0) beyond = farside_pin_line(&edge_section, next);
        if (more > 0 && count - line > 2 * IN_LINE) farside_fetch_if_absent(&edge_section, next + EDGE_LINE);
        for (long i = 0; i < last; i++) {
            if (i + AHEAD < last) {
                send_for(pinned[i + AHEAD]);
            } else if (i + AHEAD - last < more) {
                send_for(beyond[i + AHEAD - last]);
            }
            update_nodes(pinned[i]);
        }
        if (beyond) farside_unpin_line(&edge_section, beyond);
        farside_unpin_line(&edge_section, pinned);
        farside_evict_soon(here, EDGE_LINE);
    }
}

int main(int argc, char **argv) {
    long node_count = argument(argc, argv, 1, 500000), edge_count = argument(argc, argv, 2, 2000000);
    open_sections(argument(argc, argv, 3, 1 << 24), argument(argc, argv, 4, 1 << 18));
    farside_ptr nodes = farside_section_alloc(&node_section, node_count * sizeof(struct node), 128);
    farside_ptr edges = farside_section_alloc(&edge_section, edge_count * sizeof(struct edge), EDGE_LINE);
    uint64_t state = 1;
    if (!nodes || !edges) exit(1);
    for (long i = 0; i < node_count; i++) {
        struct node node = {i * 31 % 101, 0, {0}};
        farside_write(&node_section, nodes + (farside_ptr)i * sizeof node, &node, sizeof node);
    }
    for (long i = 0; i < edge_count; i++) {
        struct edge edge;
        edge.from = nodes + draw(&state) % node_count * sizeof(struct node);
        edge.to = nodes + draw(&state) % node_count * sizeof(struct node);
        farside_write(&edge_section, edges + (farside_ptr)i * sizeof edge, &edge, sizeof edge);
    }
    double begin = now();
    traverse_graph(edges, edge_count);
    took(begin);
    unsigned long all = 0;
    for (long i = 0; i < node_count; i++) {
        const struct node *node = farside_at(&node_section, nodes + (farside_ptr)i * sizeof *node);
        all = all * 33 + (unsigned long)(node->value + node->visits);
    }
    printf("%lx\n", all);
    farside_section_free(edges);
    farside_section_free(nodes);
    return 0;
}
