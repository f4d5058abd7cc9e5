/*
 * All that a profile is made of; what the compiler enters is laid out by lib/Profile/Tables.cpp, too. Units of a program that are compiled one by one each bring this code; it is the same,
 * and there is one state.
 */
#ifndef FARSIDE_PROFILE_STATE_H
#define FARSIDE_PROFILE_STATE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Sections have numbers of 8 bits; 0 is none. */
#define MOST_SECTIONS 256u
/* Functions within one another that are timed. */
#define MOST_FRAMES 65536
/* Records of a trace that are written at once: 64 KiB. */
#define MOST_RECORDS 8192u
/* Bytes of the longest path of a profile. */
#define LONGEST_PATH 4096

/* A function of the program, as the compiler enters it. */
struct function {
    const char *name, *file;
    uint32_t number;
};

/* A call that allocates, as the compiler enters it, and what it has allocated. */
struct site {
    const char *file, *function;
    uint32_t line, column;
    uint64_t blocks, bytes, live, live_bytes, peak_bytes, largest, first, last;
};

/* What the compiler has entered for one module. */
struct unit {
    struct function *functions;
    uint64_t function_count;
    struct site *sites;
    uint64_t site_count;
    struct unit *next;
};

/* What a function did, in one thread. Times are in ticks. */
struct activity {
    uint64_t calls, total, own;
    /* How long some calls took together lately. */
    uint64_t lately;
    /* How many of its calls are being timed: another one within them is a part of them. */
    uint32_t active;
};

/* A call of a function that is timed. `inner`: of that, those of others. */
struct frame {
    uint64_t start, inner;
    uint32_t function;
};

/* Everything of one thread. It is used by one after the other, and never given back. */
struct thread {
    struct thread *next, *next_free;
    uint32_t functions;
    int32_t depth;
    /* Whether it is the one that the program began with. */
    int is_main;
    struct activity *activities;
    /* Of each function, and of what is called by none of them, for each section. */
    lookups *rows;
    struct frame *frames;
    uint64_t *records;
    uint32_t used, since_time;
};

/* A block that was allocated. */
struct block {
    uint64_t address, size;
    struct site *site;
};

struct section {
    const struct farside_section *section;
    const char *name;
    uint64_t capacity, line;
    uint32_t ways;
};

struct state {
    int started, done;
    pid_t pid;
    /* When it begins, and when it ends. */
    uint64_t ticks, nanoseconds, end;
    /* Ticks of so many calls together that each was too short to be timed. */
    uint64_t shortest;
    struct unit *units;
    uint32_t function_count;
    /* For all below, but not for what a thread has for itself. */
    int lock;
    struct thread *threads, *free_threads;
    unsigned int thread_key;
    struct block *blocks;
    uint64_t block_mask, block_count;
    /* Sections, in the order in which they were opened, and the place of each by its number there, and one more. */
    struct section sections[MOST_SECTIONS];
    uint32_t section_count;
    uint8_t place_of[MOST_SECTIONS], unit_shift_of[MOST_SECTIONS];
    /* The trace: of how many units it has one, bytes of it that are written or were to be, and how many may be. */
    uint64_t rate, written, most;
    int cut, trace_error;
    char path[LONGEST_PATH], trace[LONGEST_PATH + 32];
};

#endif
