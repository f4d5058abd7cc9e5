/*
 * The cheapest way to serve a timetable from one depot, by the primal network simplex method: simplex TRIPS FOLLOWERS.
 *
 * Each trip has an end, from which a vehicle leaves, and a start, where one is needed. A vehicle goes on to one of the next
 * FOLLOWERS trips that it reaches in time, or back to the depot, from which others come.
 */
#include "measured.h"

/* More than any way through the network costs. */
#define DEAR 1000000000L

struct arc;

/* A node of the network, and its place in the spanning tree. */
struct node {
    long potential;
    /* Nodes between it and the root. */
    long depth;
    struct node *parent, *child;
    /* The other children of its parent. */
    struct node *next, *previous;
    /* The arc between it and its parent, whether it leads up, and what flows in it. */
    struct arc *basic;
    long is_up;
    long flow;
    long supply;
};

struct arc {
    struct node *tail, *head;
    long cost;
    long is_basic;
};

struct network {
    struct node *nodes, *root;
    struct arc *arcs;
    long node_count, arc_count;
    /* Where the search for an arc goes on. */
    long at;
};

struct trip {
    long start, end, from, to;
};

static struct node *new_nodes(long count) {
    return there(calloc(count, sizeof(struct node)));
}

static struct arc *new_arcs(long count) {
    return there(calloc(count, sizeof(struct arc)));
}

static int by_start(const void *left, const void *right) {
    const struct trip *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

/* Trips of a day between places on a line, in the order of their starts. */
static struct trip *new_trips(long count) {
    struct trip *trips = there(malloc(count * sizeof *trips));
    uint64_t state = 1;
    for (long i = 0; i < count; i++) {
        struct trip *trip = &trips[i];
        trip->start = (long)(draw(&state) % 1200);
        trip->end = trip->start + 10 + (long)(draw(&state) % 60);
        trip->from = (long)(draw(&state) % 100);
        trip->to = (long)(draw(&state) % 100);
    }
    qsort(trips, count, sizeof *trips, by_start);
    return trips;
}

static long distance(long from, long to) {
    return from < to ? to - from : from - to;
}

static void add_arc(struct network *network, struct node *tail, struct node *head, long cost) {
    struct arc *arc = &network->arcs[network->arc_count++];
    arc->tail = tail;
    arc->head = head;
    arc->cost = cost;
    arc->is_basic = 0;
}

/* The arcs of one trip: from the depot, to it, and to trips that begin later. */
static void add_trip(struct network *network, const struct trip *trips, long count, long at, long followers) {
    struct node *depot = network->root + 1, *end = depot + 1 + 2 * at, *start = end + 1;
    long found = 0;
    end->supply = 1;
    start->supply = -1;
    add_arc(network, depot, start, 2000 + distance(50, trips[at].from));
    add_arc(network, end, depot, distance(trips[at].to, 50));
    for (long next = at + 1; next < count && found < followers; next++) {
        const long way = distance(trips[at].to, trips[next].from), wait = trips[next].start - trips[at].end;
        if (wait < way) continue;
        add_arc(network, end, depot + 2 + 2 * next, way * 10 + wait);
        found++;
    }
}

static void hang(struct node *node, struct node *parent) {
    node->parent = parent;
    node->previous = NULL;
    node->next = parent->child;
    if (node->next) node->next->previous = node;
    parent->child = node;
}

static void take_down(struct node *node) {
    if (node->previous) {
        node->previous->next = node->next;
    } else {
        node->parent->child = node->next;
    }
    if (node->next) node->next->previous = node->previous;
}

/* The first tree: each node is joined to the root by an arc that nobody would want. */
static void plant(struct network *network) {
    struct node *root = network->root;
    for (long i = 1; i < network->node_count; i++) {
        struct node *node = root + i;
        struct arc *arc = &network->arcs[network->arc_count];
        node->is_up = node->supply >= 0;
        add_arc(network, node->is_up ? node : root, node->is_up ? root : node, DEAR);
        arc->is_basic = 1;
        node->basic = arc;
        node->flow = node->is_up ? node->supply : -node->supply;
        node->potential = node->is_up ? DEAR : -DEAR;
        node->depth = 1;
        hang(node, root);
    }
}

static struct network new_network(long trip_count, long followers) {
    struct network network = {0};
    struct trip *trips = new_trips(trip_count);
    network.node_count = 2 + 2 * trip_count;
    network.nodes = new_nodes(network.node_count);
    network.root = network.nodes;
    network.arcs = new_arcs(trip_count * (followers + 2) + network.node_count);
    for (long i = 0; i < trip_count; i++) add_trip(&network, trips, trip_count, i, followers);
    free(trips);
    plant(&network);
    return network;
}

static long reduced_cost(const struct arc *arc) {
    return arc->cost - arc->tail->potential + arc->head->potential;
}

/* The best of the first block of arcs in which one would make it cheaper; null if there is none at all. */
static struct arc *entering(struct network *network) {
    const long block = 2000;
    struct arc *best = NULL;
    long least = 0, left = network->arc_count;
    while (left > 0 && !best) {
        long end = network->at + block < network->arc_count ? network->at + block : network->arc_count;
        left -= end - network->at;
        for (long i = network->at; i < end; i++) {
            struct arc *arc = &network->arcs[i];
            HINT(arc, .ahead = 16, .sequential = 1);
            const long cost = reduced_cost(arc);
            if (cost < least && !arc->is_basic) {
                least = cost;
                best = arc;
            }
        }
        network->at = end < network->arc_count ? end : 0;
    }
    return best;
}

/* What bounds the flow around the circle that an arc closes. */
struct bound {
    struct node *join, *leaving;
    long flow;
    int is_behind_head;
};

/* Of arcs that bound it alike, the last one on the way from the join through the entering arc back leaves: no circles. */
static struct bound bound_of(const struct arc *arc) {
    struct bound bound = {NULL, NULL, DEAR, 0};
    struct node *tail = arc->tail, *head = arc->head;
    while (tail != head) {
        if (tail->depth >= head->depth) {
            if (tail->is_up && (tail->flow < bound.flow)) {
                bound.leaving = tail;
                bound.flow = tail->flow;
                bound.is_behind_head = 0;
            }
            tail = tail->parent;
        } else {
            head = head->parent;
        }
    }
    bound.join = tail;
    for (head = arc->head; head != bound.join; head = head->parent)
        if (!head->is_up && head->flow <= bound.flow) {
            bound.leaving = head;
            bound.flow = head->flow;
            bound.is_behind_head = 1;
        }
    return bound;
}

static void change_flow(const struct arc *arc, const struct bound *bound) {
    for (struct node *node = arc->tail; node != bound->join; node = node->parent)
        node->flow += node->is_up ? -bound->flow : bound->flow;
    for (struct node *node = arc->head; node != bound->join; node = node->parent)
        node->flow += node->is_up ? bound->flow : -bound->flow;
}

/* Turns the way from `node` up to the one whose arc leaves, and hangs it all below `parent`. */
static void turn(struct node *node, struct node *parent, struct arc *arc, long flow, const struct bound *bound) {
    long is_up = arc->tail == node;
    for (;;) {
        struct node *old_parent = node->parent;
        struct arc *old_arc = node->basic;
        const long old_flow = node->flow, was_up = node->is_up;
        take_down(node);
        hang(node, parent);
        node->basic = arc;
        node->flow = flow;
        node->is_up = is_up;
        if (node == bound->leaving) break;
        parent = node;
        node = old_parent;
        arc = old_arc;
        flow = old_flow;
        is_up = !was_up;
    }
}

/* Adds to the potential of a node and all below it, and sets how deep they are. */
static void raise(struct node *top, long change) {
    struct node *node = top;
    for (;;) {
        node->potential += change;
        node->depth = node->parent->depth + 1;
        if (node->child) {
            node = node->child;
            continue;
        }
        while (node != top && !node->next) node = node->parent;
        if (node == top) return;
        node = node->next;
    }
}

static void pivot(struct arc *arc) {
    const long cost = reduced_cost(arc);
    const struct bound bound = bound_of(arc);
    struct node *top = bound.is_behind_head ? arc->head : arc->tail;
    struct node *above = bound.is_behind_head ? arc->tail : arc->head;
    change_flow(arc, &bound);
    bound.leaving->basic->is_basic = 0;
    arc->is_basic = 1;
    turn(top, above, arc, bound.flow, &bound);
    raise(top, bound.is_behind_head ? -cost : cost);
}

static long solve(struct network *network) {
    long pivots = 0;
    for (struct arc *arc; (arc = entering(network)); pivots++) pivot(arc);
    return pivots;
}

/* What flows costs; -1 if something flows where nothing should. */
static long cost_of(const struct network *network) {
    long cost = 0;
    for (long i = 1; i < network->node_count; i++) {
        const struct node *node = &network->nodes[i];
        if (node->flow < 0 || (node->flow > 0 && node->basic->cost == DEAR)) return -1;
        cost += node->flow * node->basic->cost;
    }
    return cost;
}

static long vehicles_of(const struct network *network) {
    const struct node *depot = network->root + 1;
    long vehicles = 0;
    for (long i = 1; i < network->node_count; i++) {
        const struct node *node = &network->nodes[i];
        if (node->basic->tail == depot) vehicles += node->flow;
    }
    return vehicles;
}

int main(int argc, char **argv) {
    long trips = argument(argc, argv, 1, 5000), followers = argument(argc, argv, 2, 60);
    struct network network = new_network(trips, followers);
    double begin = now();
    long pivots = solve(&network);
    took(begin);
    printf("%ld pivots, %ld vehicles, cost %ld\n", pivots, vehicles_of(&network), cost_of(&network));
    free(network.arcs);
    free(network.nodes);
    return 0;
}
