/*
 * What all programs of `farside bench pointers` share: parts that are measured, memory that is not far, and numbers by
 * chance.
 *
 * A part begins with the line "begin" on standard output and ends with "end SECONDS". Both wait for a byte on standard
 * input, so that whoever runs the program can look at its counters; at the end of input they go on. All other lines are
 * the program's result.
 */
#ifndef PART_H
#define PART_H

#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Says why the program cannot go on. */
static inline void fail(const char *why) {
    fprintf(stderr, "%s\n", why);
    exit(3);
}

static inline double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static inline void await_reader(void) {
    char byte;
    fflush(stdout);
    if (read(STDIN_FILENO, &byte, 1) < 0) fail("cannot read from standard input");
}

/* Begins a part; returns when. */
static inline double begin_part(void) {
    puts("begin");
    await_reader();
    return now();
}

/* Ends the part that began then. */
static inline void end_part(double begin) {
    const double took = now() - begin;
    printf("end %.9f\n", took);
    await_reader();
}

/* Far memory, as every program gets it. */
static inline void *allocate(size_t bytes) {
    void *memory = malloc(bytes);
    if (!memory) fail("out of memory");
    return memory;
}

/* Memory that stays local, as shared mappings do: in it structures are thought out, and then written to far memory from its
 * first page to its last, so that building them takes no faults on far pages. */
static inline void *local_memory(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail("out of local memory");
    return memory;
}

static inline void free_local(void *memory, size_t bytes) { munmap(memory, bytes); }

/* The next of numbers by chance. */
static inline uint64_t draw(uint64_t *state) {
    uint64_t x = *state += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* One below `count`. */
static inline uint64_t draw_below(uint64_t *state, uint64_t count) { return (draw(state) >> 32) * count >> 32; }

/* Puts numbers into an order by chance. */
static inline void shuffle(uint32_t *numbers, size_t count, uint64_t *state) {
    for (size_t i = count; i > 1; i--) {
        const size_t j = draw_below(state, i);
        const uint32_t number = numbers[i - 1];
        numbers[i - 1] = numbers[j];
        numbers[j] = number;
    }
}

/* An argument, if there is one. */
static inline uint64_t number(int count, char **arguments, int at) {
    if (at >= count) fail("too few arguments");
    return strtoull(arguments[at], NULL, 10);
}

#endif
