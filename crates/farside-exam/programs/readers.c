/* A table that main makes, and that other threads read: of each 8 KiB of it two records, many times in turn. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define GROUP 64
#define THREADS 2

struct record {
    unsigned next, value;
    char rest[120];
};

struct part {
    pthread_t thread;
    unsigned long seed, sum;
};

static struct record *table;
static long groups, visits, steps;

static unsigned place(unsigned long group, unsigned long which) {
    return group * GROUP + (group * 37 + which * 17) % GROUP;
}

__attribute__((noinline)) static void new_table(void) {
    long i;
    table = malloc(groups * GROUP * sizeof *table);
    for (i = 0; i < groups * GROUP; i++) {
        table[i].next = i;
        table[i].value = i * 31 % 101;
        table[i].rest[i % 120] = i;
    }
    for (i = 0; i < groups; i++) {
        table[place(i, 0)].next = place(i, 1);
        table[place(i, 1)].next = place(i, 0);
    }
}

__attribute__((noinline)) static unsigned long look(unsigned long seed) {
    unsigned long sum = 0;
    long visit, step;
    for (visit = 0; visit < visits; visit++) {
        unsigned at;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        at = place((seed >> 33) % groups, 0);
        for (step = 0; step < steps; step++) {
            sum = sum * 3 + table[at].value;
            at = table[at].next;
        }
    }
    return sum;
}

static void *reader(void *given) {
    struct part *part = given;
    part->sum = look(part->seed);
    return 0;
}

int main(int argc, char **argv) {
    static struct part parts[THREADS];
    int i;
    groups = argc > 1 ? atol(argv[1]) : 1024;
    visits = argc > 2 ? atol(argv[2]) : 20000;
    steps = argc > 3 ? atol(argv[3]) : 1000;
    new_table();
    for (i = 0; i < THREADS; i++) {
        parts[i].seed = i + 1;
        pthread_create(&parts[i].thread, 0, reader, &parts[i]);
    }
    for (i = 0; i < THREADS; i++) pthread_join(parts[i].thread, 0);
    for (i = 0; i < THREADS; i++) printf("%lx\n", parts[i].sum);
    return 0;
}
