// Walks a list of nodes of a page each, some times in the order in which they lie in memory, as often in no order.
// Usage: list MEBIBYTES. Prints a checksum.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAGE = 4096, WALKS = 4 };

struct node {
    struct node *next;
    uint64_t value;
    char rest[PAGE - 16];
};

static uint64_t state = 1;

static uint64_t next(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
}

// Links the nodes in this order; returns the first.
static struct node *linked(struct node *nodes, const long *order, long n) {
    for (long i = 0; i + 1 < n; i++) nodes[order[i]].next = &nodes[order[i + 1]];
    nodes[order[n - 1]].next = NULL;
    return &nodes[order[0]];
}

static uint64_t walk(const struct node *node) {
    uint64_t sum = 0;
    for (int i = 0; i < WALKS; i++)
        for (const struct node *at = node; at; at = at->next) sum = sum * 31 + at->value;
    return sum;
}

int main(int count, char **arguments) {
    long n = (count > 1 ? atol(arguments[1]) : 64) << 8;
    if (n < 1 || n > 1L << 22) {
        fprintf(stderr, "usage: list MEBIBYTES, from 1 to 16384\n");
        return 2;
    }
    struct node *nodes = aligned_alloc(PAGE, n * sizeof *nodes);
    long *order = malloc(n * sizeof *order);
    if (!nodes || !order) return 3;
    for (long i = 0; i < n; i++) {
        order[i] = i;
        nodes[i].value = next();
    }
    uint64_t sum = walk(linked(nodes, order, n));
    for (long i = n - 1; i > 0; i--) {
        long other = next() % (i + 1), held = order[i];
        order[i] = order[other];
        order[other] = held;
    }
    sum += walk(linked(nodes, order, n));
    printf("checksum %llu\n", (unsigned long long)sum);
    return 0;
}
