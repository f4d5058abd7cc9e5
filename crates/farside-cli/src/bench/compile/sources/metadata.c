/*
 * What a section takes besides its lines: metadata WAYS LINE MEGABYTES. Says on standard error by how many bytes this process
 * grows for each byte that is cached, beyond that byte.
 */
#include "measured.h"

#include <farside/section.h>
#include <unistd.h>

/* Bytes of this process that are in memory. */
static double resident(void) {
    long all = 0, here = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &all, &here) != 2) {
        fprintf(stderr, "cannot read /proc/self/statm\n");
        exit(1);
    }
    fclose(file);
    return (double)here * (double)sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv) {
    struct farside_section section;
    struct farside_section_options how = {"lines", (size_t)argument(argc, argv, 3, 32) << 20,
                                          (size_t)argument(argc, argv, 2, 128), (unsigned)argument(argc, argv, 1, 2), 0};
    farside_ptr all;
    /* Buffers of the C library are there before. */
    double before = resident();
    before = resident();
    if (farside_section_open(&section, &how) || !farside_section_is_far(&section)) {
        fprintf(stderr, "no section; it takes farside run and room for it\n");
        return 1;
    }
    all = farside_section_alloc(&section, how.capacity, how.line);
    if (!all) return 1;
    for (size_t i = 0; i < how.capacity; i += how.line) *(long *)farside_at_mut(&section, all + i, 8) = 1;
    const double grown = resident() - before, cached = (double)how.capacity;
    fprintf(stderr, "%.6f\n", (grown - cached) / cached);
    puts("done");
    return 0;
}
