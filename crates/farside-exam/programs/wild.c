/*
 * Everything that `farside.h` has, with arguments by chance: `wild SEED MEGABYTES`. Three threads and a signal handler
 * name what is far and what is not, freed, unmapped, null, beyond all bounds, while the same threads use, map and
 * unmap memory. Each part of the memory belongs to one thread, which knows what lies there, and exits with 9 if it is
 * something else. Prints a sum over all of it.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include "farside.h"

enum { PAGE = 4096, WORDS = PAGE / 8, THREADS = 3, STEPS = 6000, PLACES = 32, MOST_LISTED = 200 };

static uint64_t *memory;
static size_t pages;

/* Addresses that were given back, for whoever wants to name them. */
static void *volatile gone[PLACES];

/* The random numbers of splitmix64. */
static uint64_t next(uint64_t *state) {
    uint64_t x = *state += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static uint64_t below(uint64_t *state, uint64_t limit) {
    return next(state) % limit;
}

static const char *any_place(uint64_t *state) {
    static const char constant[] = "constant";
    static char variable[PAGE];
    char *far = (char *)memory + below(state, pages * PAGE);
    switch (below(state, 16)) {
    case 0: return 0;
    case 1: return (const char *)(uintptr_t)next(state);
    case 2: return (const char *)(UINTPTR_MAX - below(state, 2 * PAGE));
    case 3: return (const char *)(uintptr_t)below(state, 2 * PAGE);
    case 4: return __builtin_frame_address(0);
    case 5: return below(state, 2) ? constant : variable;
    case 6: return (const char *)(uintptr_t)any_place;
    case 7: return (char *)memory - below(state, 4 * PAGE);
    case 8: return (char *)memory + pages * PAGE + below(state, 4 * PAGE);
    case 9:
    case 10: return gone[below(state, PLACES)];
    case 11: return far - (uintptr_t)far % PAGE;
    default: return far;
    }
}

static size_t any_size(uint64_t *state, const char *place) {
    switch (below(state, 12)) {
    case 0: return SIZE_MAX - below(state, 3);
    case 1: return (size_t)0 - (uintptr_t)place;
    case 2: return next(state);
    case 3: return (size_t)1 << below(state, 64);
    case 4: return pages * PAGE;
    case 5:
    case 6: return below(state, 64 * PAGE);
    case 7: return PAGE;
    default: return below(state, 3);
    }
}

static long any_distance(uint64_t *state) {
    switch (below(state, 8)) {
    case 0: return LONG_MAX - (long)below(state, 2);
    case 1: return LONG_MIN + (long)below(state, 2);
    case 2: return (long)next(state);
    case 3:
    case 4: return (long)below(state, 64) - 32;
    default: return 0;
    }
}

static void list(uint64_t *state) {
    const void *places[MOST_LISTED];
    uint16_t indices[MOST_LISTED];
    size_t count = below(state, MOST_LISTED);
    const char *base = any_place(state);
    switch (below(state, 3)) {
    case 0:
        for (size_t i = 0; i < count; i++) places[i] = any_place(state);
        farside_ahead(places, count);
        break;
    case 1:
        farside_ahead_strided(base, any_distance(state), count);
        break;
    default:
        for (size_t i = 0; i < count; i++) indices[i] = (uint16_t)next(state);
        farside_ahead_indirect(base, any_size(state, base), indices, count);
    }
}

static const char *any_policy(uint64_t *state) {
    static const char *const names[] = {"fifo", "second-chance", "priority", "eden", "lirs", "mru", "arc", "", "\xff", 0};
    return names[below(state, sizeof names / sizeof *names)];
}

/* One call. What is asked of it is used again where calls come in pairs. */
static void call(uint64_t *state, int in_handler) {
    const char *place = any_place(state);
    size_t size = any_size(state, place);
    long ahead = any_distance(state);
    unsigned priority = below(state, 2) ? below(state, 8) : (unsigned)next(state);
    int mut = below(state, 2);
    switch (below(state, in_handler ? 3 : 10)) {
    case 0: farside_hint(place, .size = size, .mut = mut, .ahead = ahead, .priority = priority); break;
    case 1: farside_hint(place, .ahead = ahead, .sequential = 1); break;
    case 2: farside_hint(place, .mut = mut); break;
    case 3:
        if (farside_start(place, .size = size, .mut = mut, .ahead = ahead, .priority = priority)) {
            while (!farside_arrived(place, size)) sched_yield();
        }
        break;
    case 4:
        /* Nobody has to ask for what was sent for. */
        (void)farside_start(place, .size = size, .ahead = ahead);
        (void)farside_arrived(any_place(state), any_size(state, place));
        break;
    case 5: farside_done(place, size); break;
    case 6:
        if (farside_pin(place, size) == 0) farside_unpin(place, size);
        if (below(state, 8) == 0) farside_unpin(any_place(state), any_size(state, place));
        break;
    case 7: list(state); break;
    case 8: (void)(mut ? farside_tag(place, size) : farside_untag(place, size)); break;
    default:
        if (below(state, 16) == 0) (void)farside_region(place, size, any_policy(state));
    }
}

static uint64_t of_handler = 1;

static void alarmed(int signal) {
    (void)signal;
    call(&of_handler, 1);
}

/* Memory that comes and goes, used in between. */
static void come_and_go(uint64_t *state) {
    size_t size = 1 + below(state, 80 * PAGE);
    int mapped = below(state, 2);
    char *some = mapped ? mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : malloc(size);
    if (!some || some == MAP_FAILED) exit(3);
    gone[below(state, PLACES)] = some;
    char mark = (char)next(state);
    size_t middle = below(state, size);
    some[middle] = mark;
    for (int i = 0; i < 3; i++) call(state, 0);
    if (some[middle] != mark) exit(9);
    if (!mapped) free(some);
    else if (munmap(some, size)) exit(3);
}

static void *wander(void *number) {
    /* What is asked for is chosen apart: without far memory, fewer numbers are drawn for it. */
    uint64_t state = *(uint64_t *)number, asking = ~state, own = state % THREADS;
    uint64_t *versions = calloc(pages, sizeof *versions);
    if (!versions) exit(3);
    for (int step = 0; step < STEPS; step++) {
        size_t page = below(&state, pages / THREADS) * THREADS + own;
        uint64_t *word = &memory[page * WORDS + page % WORDS];
        if (*word != page + (versions[page] << 32)) exit(9);
        if (below(&state, 2)) *word = page + (++versions[page] << 32);
        call(&asking, 0);
        if (below(&state, 64) == 0) come_and_go(&asking);
    }
    free(versions);
    return 0;
}

/* Before anything is known of far memory. */
__attribute__((constructor(101))) static void early(void) {
    char local = 0;
    farside_hint(&local, .size = SIZE_MAX, .ahead = 7);
    farside_done(&local, SIZE_MAX);
    farside_unpin(0, 1);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    uint64_t seeds[THREADS], seed = strtoull(argv[1], 0, 10), sum = 0;
    pthread_t threads[THREADS];
    struct sigaction action = {.sa_handler = alarmed, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    pages = strtoul(argv[2], 0, 10) * 256;
    memory = mmap(0, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 3;
    for (size_t page = 0; page < pages; page++) memory[page * WORDS + page % WORDS] = page;
    sigaction(SIGALRM, &action, 0);
    setitimer(ITIMER_REAL, &often, 0);
    for (int i = 0; i < THREADS; i++) {
        seeds[i] = next(&seed) / THREADS * THREADS + i;
        if (seeds[i] % THREADS != (uint64_t)i) seeds[i] = i;
        if (pthread_create(&threads[i], 0, wander, &seeds[i])) return 4;
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
    setitimer(ITIMER_REAL, &never, 0);
    for (size_t page = 0; page < pages; page++) {
        uint64_t word = memory[page * WORDS + page % WORDS];
        if ((uint32_t)word != page) return 9;
        sum = sum * 3 + memory[page * WORDS + (page + 1) % WORDS] + word;
    }
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
