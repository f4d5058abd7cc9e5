/*
 * Passes over memory, with hints and without: `passes MEGABYTES WHAT...`, where WHAT is
 *
 *   near     single words, anywhere in memory that is here, with hints and without: prints what a hint costs
 *   along    all words, one after the other, with hints of one stream and without: the same
 *   hinted   one word in each page, one page after the other, with hints: prints what a page takes
 *   faulting the same without
 *
 * Prints nanoseconds, one figure a line, and a sum over what it read. `near` wants a power of two.
 */
#include <farside.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORDS = 512, ROUNDS = 9, READS = 4000000 };

static uint64_t *memory;
static size_t words;
static uint64_t sum;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

/* The next of numbers that come in no order. */
static inline uint64_t next(uint64_t x) { return x * 6364136223846793005u + 1442695040888963407u; }

/* What a pass uses lies in variables of its own: the compiler has to look at others again after each hint. */
__attribute__((noinline)) static void near_hinted(void) {
    const uint64_t *const all = memory;
    const size_t mask = words - 1;
    uint64_t at = 1, own = 0;
    for (int i = 0; i < READS; i++) {
        at = next(at);
        farside_hint(&all[at >> 20 & mask]);
        own += all[at >> 20 & mask];
    }
    sum += own;
}

__attribute__((noinline)) static void near_plain(void) {
    const uint64_t *const all = memory;
    const size_t mask = words - 1;
    uint64_t at = 1, own = 0;
    for (int i = 0; i < READS; i++) {
        at = next(at);
        own += all[at >> 20 & mask];
    }
    sum += own;
}

/* Sums in a way that no compiler can do several at once. */
__attribute__((noinline)) static void along_hinted(void) {
    const uint64_t *const all = memory;
    const size_t count = words;
    uint64_t own = 0;
    for (size_t i = 0; i < count; i++) {
        farside_hint(&all[i], .ahead = 32, .sequential = 1);
        own = own * 3 + all[i];
    }
    sum += own;
}

__attribute__((noinline)) static void along_plain(void) {
    const uint64_t *const all = memory;
    const size_t count = words;
    uint64_t own = 0;
    for (size_t i = 0; i < count; i++) own = own * 3 + all[i];
    sum += own;
}

__attribute__((noinline)) static void far_hinted(void) {
    for (size_t i = 0; i < words; i += WORDS) {
        farside_hint(&memory[i], .ahead = 64);
        sum += memory[i];
    }
}

__attribute__((noinline)) static void far_plain(void) {
    for (size_t i = 0; i < words; i += WORDS) sum += memory[i];
}

static double time_of(void (*pass)(void)) {
    const double begin = now();
    pass();
    return now() - begin;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What one pass takes longer than the other, of which each does so many things: the median of some rounds. */
static double difference(void (*one)(void), void (*other)(void), double things) {
    double differences[ROUNDS];
    time_of(one), time_of(other);
    for (int i = 0; i < ROUNDS; i++) differences[i] = (time_of(one) - time_of(other)) / things;
    qsort(differences, ROUNDS, sizeof *differences, by_size);
    return differences[ROUNDS / 2];
}

int main(int count, char **arguments) {
    if (count < 3) return 2;
    const size_t pages = strtoul(arguments[1], 0, 10) * 256;
    words = pages * WORDS;
    memory = malloc(words * sizeof *memory);
    if (!memory || !pages) return 3;
    for (size_t i = 0; i < words; i++) memory[i] = next(i);
    for (int i = 2; i < count; i++) {
        const char *what = arguments[i];
        double ns;
        if (!strcmp(what, "near")) {
            ns = difference(near_hinted, near_plain, READS);
        } else if (!strcmp(what, "along")) {
            ns = difference(along_hinted, along_plain, words);
        } else if (!strcmp(what, "hinted")) {
            ns = time_of(far_hinted) / pages;
        } else if (!strcmp(what, "faulting")) {
            ns = time_of(far_plain) / pages;
        } else {
            return 2;
        }
        fprintf(stderr, "%.4f\n", ns);
    }
    printf("%016llx\n", (unsigned long long)sum);
    return 0;
}
