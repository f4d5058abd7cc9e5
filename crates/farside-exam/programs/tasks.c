/*
 * Does several tasks at once, each of which waits for far memory while the others run: `tasks MEGABYTES WHAT`, where
 * WHAT is how tasks are switched: `steps`, by hand, or `hook`, by a library that the hints know nothing of. Prints a
 * sum that does not depend on the order.
 */
#include <farside.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { PAGE = 4096, WORDS = PAGE / 8, TASKS = 16, STACK = 64 << 10, LENGTH = 2000 };

static uint64_t *memory;
static size_t pages;

static uint64_t mix(uint64_t x) {
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9u;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* A walk whose next step depends on what is found. */
struct walk {
    uint64_t at, sum;
    int steps, waits;
};

static const uint64_t *place(const struct walk *walk) {
    return &memory[walk->at % (pages * WORDS)];
}

static void step(struct walk *walk) {
    uint64_t found = *place(walk);
    walk->sum = walk->sum * 3 + found;
    walk->at = mix(walk->at + found);
    walk->steps++;
}

static uint64_t by_steps(void) {
    struct walk walks[TASKS] = {{0, 0, 0, 0}};
    uint64_t total = 0;
    int left = TASKS;
    for (int i = 0; i < TASKS; i++) walks[i].at = mix(i);
    while (left > 0) {
        for (int i = 0; i < TASKS; i++) {
            struct walk *walk = &walks[i];
            if (walk->steps == LENGTH) continue;
            if (walk->waits && !farside_arrived(place(walk), 1)) continue;
            if (!walk->waits && farside_start(place(walk))) {
                walk->waits = 1;
                continue;
            }
            walk->waits = 0;
            step(walk);
            if (walk->steps == LENGTH) left--;
        }
    }
    for (int i = 0; i < TASKS; i++) total += walks[i].sum;
    return total;
}

/* A library for tasks, as small as can be. */
static ucontext_t contexts[TASKS], all_done;
static struct walk walks[TASKS];
static int current, left;

static void next(void *unused) {
    int from = current;
    (void)unused;
    do {
        current = (current + 1) % TASKS;
    } while (walks[current].steps == LENGTH && current != from);
    if (current != from) swapcontext(&contexts[from], &contexts[current]);
}

static void walk(void) {
    struct walk *own = &walks[current];
    while (own->steps < LENGTH) {
        farside_hint(place(own));
        step(own);
    }
    if (--left == 0) setcontext(&all_done);
    next(0);
}

static uint64_t sum_of_walks(void) {
    uint64_t total = 0;
    for (int i = 0; i < TASKS; i++) total += walks[i].sum;
    return total;
}

static uint64_t by_hook(void) {
    static volatile int begun;
    left = TASKS;
    for (int i = 0; i < TASKS; i++) {
        walks[i].at = mix(i);
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = malloc(STACK);
        contexts[i].uc_stack.ss_size = STACK;
        makecontext(&contexts[i], walk, 0);
    }
    farside_wait_with(next, 0);
    getcontext(&all_done);
    if (!begun) {
        begun = 1;
        current = 0;
        setcontext(&contexts[0]);
    }
    farside_wait_with(0, 0);
    return sum_of_walks();
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    pages = strtoul(argv[1], 0, 10) * 256;
    memory = malloc(pages * PAGE);
    if (!memory) return 3;
    for (size_t i = 0; i < pages * WORDS; i++) memory[i] = mix(i);
    printf("%016llx\n", (unsigned long long)(strcmp(argv[2], "hook") ? by_steps() : by_hook()));
    return 0;
}
