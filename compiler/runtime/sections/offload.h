/* Functions that can run where their data is. */
#ifndef FARSIDE_RUNTIME_SECTIONS_OFFLOAD_H
#define FARSIDE_RUNTIME_SECTIONS_OFFLOAD_H

#include "plain.h"

/* A function that can run where its data is, and what the runtime keeps of it. */
struct farside_rt_offload {
    const void *code;
    uint64_t code_size;
    const char *name;
    /* Those that it reads, and null for those that it does not. */
    const struct farside_section *const *sections;
    uint32_t section_count, entry;
    uint64_t input, output;
    uint64_t handle;
};

extern uint64_t farside_offload_(struct farside_rt_offload *what, void *input, void *output) __attribute__((weak));
extern void farside_offload_ran_here_(struct farside_rt_offload *what, uint64_t began) __attribute__((weak));

/*
 * Runs a function where its data is; 0 if it did, and `output` is what it left. Else it is to be run here, and
 * farside_rt_ran_here() called with what this returned. `together`: its results may lie where it reads.
 */
CALL uint64_t farside_rt_offload(struct farside_rt_offload *what, void *input, void *output, uint32_t together) {
    uint32_t i;
    if (!farside_offload_ || together) return 1;
    for (i = 0; i < what->section_count; ++i)
        if (what->sections[i] && !what->sections[i]->id) return 1;
    return farside_offload_(what, input, output);
}

/* Puts results where they belong: of `size` bytes those that are marked. */
CALL void farside_rt_unpack(unsigned char *to, const unsigned char *from, const unsigned char *marks, uint64_t size) {
    uint64_t i;
    for (i = 0; i < size; ++i)
        if (marks[i]) to[i] = from[i];
}

CALL void farside_rt_ran_here(struct farside_rt_offload *what, uint64_t began) {
    if (began > 1 && farside_offload_ran_here_) farside_offload_ran_here_(what, began);
}

#endif
