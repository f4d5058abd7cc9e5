/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What instructions of x86-64 do, as far as it matters for the addresses of data accesses.
 *
 * Registers that are pushed, popped, added to or subtracted from by constants are followed through a
 * block of code. Of an instruction that is not understood nothing is assumed: it may access anything
 * and change every register.
 */
#ifndef PAGETRACE_EFFECTS_H
#define PAGETRACE_EFFECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* With ACCESS_BOTH a read and then a write of the same bytes. */
enum access_kind { ACCESS_NONE = 0, ACCESS_READ = 1, ACCESS_WRITE = 2, ACCESS_BOTH = 3 };

/* What is known at a place in a block. */
struct tracker {
    uint32_t version[16]; /* of each register: another one after each change that is not followed */
    int32_t offset[16];   /* what was added since */
    uint32_t last_version;
};

/* The address of an access: the sum of registers as they were, and the displacement. */
struct place {
    uint8_t base, index, scale;
    uint32_t base_version, index_version;
    int64_t displacement;
};

/* What an instruction does. */
struct effect {
    bool opaque;  /* whether it may access memory in ways not told here */
    uint8_t kind; /* enum access_kind */
    uint8_t bytes;
    struct place place;
};

/* Nothing is known of the registers. */
void tracker_begin(struct tracker *tracker);

/* What the instruction of these bytes, which lies at `address`, does; the tracker is behind it then. */
struct effect tracker_step(struct tracker *tracker, const uint8_t *code, size_t length,
                           uint64_t address);

/* Whether the addresses of two places differ by their displacements. */
bool comparable(const struct place *a, const struct place *b);

#endif
