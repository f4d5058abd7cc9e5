/*
 * Numbers here and there of an array: gather WHAT WAYS LINE CAPACITY MEGABYTES USES.
 *
 * WHAT is "hit", all of it is here and each use is timed, or "far", for which each use is sent for ahead, or "wait", for which
 * nothing is. Built with PLAIN, the array is plain memory. Says on standard error how many nanoseconds a use takes.
 */
#include <farside/section.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { AHEAD = 32, RECORD = 64 };

#ifdef PLAIN
static char *array;
#define AT(i) (*(const unsigned long *)(array + (i) * RECORD))
#define SET(i, value) (*(unsigned long *)(array + (i) * RECORD) = (value))
#else
static struct farside_section section;
static farside_ptr array;
#ifndef LOOKUP
#define LOOKUP farside_at
#endif
#define AT(i) (*(const unsigned long *)LOOKUP(&section, array + (i) * RECORD))
#define SET(i, value) (*(unsigned long *)farside_at_mut(&section, array + (i) * RECORD, 8) = (value))
#endif

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The use with this number comes to a record that no other number tells: none waits for the one before. */
static unsigned long record_of(unsigned long use, unsigned long records) {
    unsigned long mixed = use * 0x9e3779b97f4a7c15u;
    mixed ^= mixed >> 29;
    return mixed * 0xbf58476d1ce4e5b9u % records;
}

static unsigned long gather(unsigned long uses, unsigned long records, int ahead) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < uses; i++) {
#ifndef PLAIN
        if (ahead) farside_fetch_if_absent(&section, array + record_of(i + AHEAD, records) * RECORD);
#else
        (void)ahead;
#endif
        sum = sum * 31 + AT(record_of(i, records));
    }
    return sum;
}

int main(int argc, char **argv) {
    if (argc < 7) return 2;
    const unsigned long bytes = strtoul(argv[5], NULL, 10) << 20, uses = strtoul(argv[6], NULL, 10);
    const unsigned long records = bytes / RECORD;
    unsigned long sum = 0;
#ifdef PLAIN
    array = malloc(bytes);
#else
    struct farside_section_options how = {"numbers", strtoul(argv[4], NULL, 10), strtoul(argv[3], NULL, 10),
                                          (unsigned)atoi(argv[2]), 0};
    if (farside_section_open(&section, &how)) return 1;
    array = farside_section_alloc(&section, bytes, 64);
#endif
    if (!array) return 1;
    for (unsigned long i = 0; i < records; i++) SET(i, i * 2654435761u);
    if (!strcmp(argv[1], "hit")) sum = gather(uses, records, 0);
    double begin = now();
    sum += gather(uses, records, !strcmp(argv[1], "far"));
    fprintf(stderr, "%.3f ns\n", (now() - begin) / (double)uses);
    printf("%lx\n", sum);
    return 0;
}
