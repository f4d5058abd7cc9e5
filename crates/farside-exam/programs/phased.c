/*
 * Two phases: nodes are used here and there, and then rows are, as many of both (thesis, figure 3.7).
 *
 *     phased COUNT TURNS
 */
#include <stdio.h>
#include <stdlib.h>

struct node {
    long value, visits;
    char rest[112];
};
struct row {
    long sum, count;
    char rest[112];
};

static struct node *new_nodes(long count) { return calloc((size_t)count, sizeof(struct node)); }
static struct row *new_rows(long count) { return calloc((size_t)count, sizeof(struct row)); }

static unsigned long next_random(unsigned long *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

__attribute__((noinline)) static long traverse(struct node *nodes, long count, long turns) {
    unsigned long state = 88172645463325252u;
    long i, sum = 0;
    for (i = 0; i < turns; i++) {
        struct node *to = &nodes[next_random(&state) % (unsigned long)count];
        sum += to->value ^ i;
        to->value += i;
        to->visits++;
    }
    return sum;
}

__attribute__((noinline)) static long collect(struct row *rows, long count, long turns) {
    unsigned long state = 362436069362436069u;
    long i, sum = 0;
    for (i = 0; i < turns; i++) {
        struct row *to = &rows[next_random(&state) % (unsigned long)count];
        sum = sum * 3 + to->sum;
        to->sum += i;
        to->count++;
    }
    return sum;
}

int main(int argc, char **argv) {
    const long count = argc > 1 ? atol(argv[1]) : 1000, turns = argc > 2 ? atol(argv[2]) : 1000;
    struct node *nodes = new_nodes(count);
    struct row *rows = new_rows(count);
    long sum = 0;
    if (!nodes || !rows) return 1;
    sum = traverse(nodes, count, turns);
    sum ^= collect(rows, count, turns);
    printf("%ld\n", sum);
    free(nodes);
    free(rows);
    return 0;
}
