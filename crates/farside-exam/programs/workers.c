/* Threads that each make a table of their own and change it: of each 8 KiB of it two records, many times in turn. */
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

static long groups, visits, steps;
static pthread_barrier_t all;

static unsigned place(unsigned long group, unsigned long which) {
    return group * GROUP + (group * 37 + which * 17) % GROUP;
}

__attribute__((noinline)) static struct record *new_table(void) {
    struct record *table = malloc(groups * GROUP * sizeof *table);
    long i;
    for (i = 0; i < groups * GROUP; i++) {
        table[i].next = i;
        table[i].value = i * 31 % 101;
        table[i].rest[i % 120] = i;
    }
    for (i = 0; i < groups; i++) {
        table[place(i, 0)].next = place(i, 1);
        table[place(i, 1)].next = place(i, 0);
    }
    return table;
}

__attribute__((noinline)) static unsigned long work(struct record *table, unsigned long seed) {
    unsigned long sum = 0;
    long visit, step;
    for (visit = 0; visit < visits; visit++) {
        unsigned at;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        at = place((seed >> 33) % groups, 0);
        for (step = 0; step < steps; step++) {
            sum = sum * 3 + table[at].value++;
            at = table[at].next;
        }
    }
    return sum;
}

static void *worker(void *given) {
    struct part *part = given;
    struct record *table = new_table();
    /* All tables are there at the same time, however busy the machine is. */
    pthread_barrier_wait(&all);
    part->sum = work(table, part->seed);
    free(table);
    return 0;
}

int main(int argc, char **argv) {
    static struct part parts[THREADS];
    int i;
    groups = argc > 1 ? atol(argv[1]) : 512;
    visits = argc > 2 ? atol(argv[2]) : 20000;
    steps = argc > 3 ? atol(argv[3]) : 1000;
    pthread_barrier_init(&all, 0, THREADS);
    for (i = 0; i < THREADS; i++) {
        parts[i].seed = i + 1;
        pthread_create(&parts[i].thread, 0, worker, &parts[i]);
    }
    for (i = 0; i < THREADS; i++) pthread_join(parts[i].thread, 0);
    for (i = 0; i < THREADS; i++) printf("%lx\n", parts[i].sum);
    return 0;
}
