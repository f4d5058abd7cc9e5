/*
 * A linked list that is walked: `list NODES BYTES ORDER STEPS WORK...`. Each node has so many bytes, 4096 at most, of which
 * a power of two; ORDER is
 *
 *   sequential  from node to node as they lie in memory
 *   random      all nodes in an order by chance
 *   pages       page after page in an order by chance, and the nodes of each page in one, too
 *
 * Nodes are as in the paper: the pointer to the next lies at the end (for a node of a page, 16 bytes before it), and
 * numbers before it. The list is walked STEPS nodes far to warm up; and then, for each WORK, as far again with so many
 * nanoseconds of work at each node, which is a part that is measured.
 */
#include "part.h"

enum { PAGE = 4096 };

/* What is at the end of a node. */
struct tail {
    struct tail *next;
    uint64_t value;
};

static volatile uint64_t sink;

static inline void turn(uint64_t turns) {
    uint64_t x = turns;
    for (uint64_t i = 0; i < turns; i++) x = x * 6364136223846793005u + 1442695040888963407u;
    sink = x;
}

/* How often the processor turns in so many nanoseconds: the most of some tries, since others may disturb. */
static uint64_t turns_in(uint64_t nanoseconds) {
    enum { TURNS = 1000000, TRIES = 20 };
    double least = 1e9;
    if (nanoseconds == 0) return 0;
    for (int i = 0; i < TRIES; i++) {
        const double begin = now();
        turn(TURNS);
        const double took = now() - begin;
        if (took < least) least = took;
    }
    return nanoseconds * 1e-9 / least * TURNS;
}

/* The order in which nodes are walked. */
static uint32_t *order_of(const char *name, size_t nodes, size_t size) {
    uint64_t state = 1;
    uint32_t *order = local_memory(nodes * sizeof *order);
    for (size_t i = 0; i < nodes; i++) order[i] = i;
    if (!strcmp(name, "random")) {
        shuffle(order, nodes, &state);
    } else if (!strcmp(name, "pages")) {
        const size_t in_page = PAGE / size, pages = nodes / in_page;
        uint32_t *page = local_memory(pages * sizeof *page);
        for (size_t i = 0; i < pages; i++) page[i] = i;
        shuffle(page, pages, &state);
        for (size_t i = 0; i < pages; i++) {
            for (size_t j = 0; j < in_page; j++) order[i * in_page + j] = page[i] * in_page + j;
            shuffle(&order[i * in_page], in_page, &state);
        }
        free_local(page, pages * sizeof *page);
    } else if (strcmp(name, "sequential")) {
        fail("no such order");
    }
    return order;
}

static struct tail *build(const char *order_name, size_t nodes, size_t size) {
    char *memory = aligned_alloc(PAGE, nodes * size);
    if (!memory) fail("out of memory");
    uint32_t *order = order_of(order_name, nodes, size);
    uint32_t *next = local_memory(nodes * sizeof *next);
    for (size_t i = 0; i < nodes; i++) next[order[i]] = order[(i + 1) % nodes];
    const size_t first = order[0], tail = size - sizeof(struct tail);
    uint64_t state = 2;
    for (size_t i = 0; i < nodes; i++) {
        char *node = memory + i * size;
        for (size_t at = 0; at < tail; at += sizeof state) *(uint64_t *)(node + at) = draw(&state);
        *(struct tail *)(node + tail) = (struct tail){ (struct tail *)(memory + next[i] * size + tail), draw(&state) };
    }
    free_local(order, nodes * sizeof *order);
    free_local(next, nodes * sizeof *next);
    return (struct tail *)(memory + first * size + tail);
}

int main(int count, char **arguments) {
    const size_t nodes = number(count, arguments, 1), size = number(count, arguments, 2);
    const size_t steps = number(count, arguments, 4);
    if (size < 2 * sizeof(struct tail) || size > PAGE || size & (size - 1)) fail("bad size of a node");
    if (nodes < PAGE / size || nodes % (PAGE / size) || nodes >> 32) fail("bad number of nodes");
    struct tail *node = build(arguments[3], nodes, size);
    uint64_t sum = 0;
    for (size_t i = 0; i < steps; i++, node = node->next) sum = sum * 31 + node->value;
    for (int part = 5; part < count; part++) {
        const uint64_t turns = turns_in(number(count, arguments, part));
        const double begin = begin_part();
        if (turns == 0) {
            for (size_t i = 0; i < steps; i++, node = node->next) sum = sum * 31 + node->value;
        } else {
            for (size_t i = 0; i < steps; i++, node = node->next) {
                sum = sum * 31 + node->value;
                turn(turns);
            }
        }
        end_part(begin);
    }
    printf("%016llx\n", (unsigned long long)sum);
    return 0;
}
