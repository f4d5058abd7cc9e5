/* What all programs share: the time of the part that is measured, and numbers by chance. */
#ifndef MEASURED_H
#define MEASURED_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/*
 * What an engineer would tell by hand, for the programs to be held against: nothing but in builds that ask for it.
 * HINT(address, how...) is farside_hint(), SEND_FOR(addresses, count) farside_ahead().
 */
#ifdef BY_HAND
#include <farside.h>
#define HINT(...) farside_hint(__VA_ARGS__)
#define SEND_FOR(addresses, count) farside_ahead(addresses, count)
#else
#define HINT(...) ((void)0)
#endif

static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Says how long the part took that began at `begin`. */
static inline void took(double begin) {
    fprintf(stderr, "%.6f s\n", now() - begin);
}

/* splitmix64 */
static inline uint64_t draw(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline long argument(int count, char **values, int at, long otherwise) {
    return count > at ? atol(values[at]) : otherwise;
}

/* Memory that is there, or no program. */
static inline void *there(void *memory) {
    if (!memory) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return memory;
}

#endif
