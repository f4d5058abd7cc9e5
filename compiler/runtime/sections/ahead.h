/* Sending for what is used soon, one by one. */
#ifndef FARSIDE_RUNTIME_SECTIONS_AHEAD_H
#define FARSIDE_RUNTIME_SECTIONS_AHEAD_H

#include "known.h"

/* Sends for the line of a pointer. That it is followed is only likely: it may be null, freed, or what memory held before. */
SLOW void farside_rt_send_for(const struct farside_section *section, const void *pointer) {
    if (number(pointer) >> FARSIDE_ID_SHIFT_ != section->id || !section->id) return;
    *missing(section) = MISSED_;
    farside_section_do_(number(pointer), 1, FARSIDE_DO_WANT_);
}

PART void farside_rt_want_known(const struct farside_section *section, const void *pointer, uint32_t shift,
                                uint32_t ways, int exact) {
    if (slot_known(section, number(pointer), shift, ways, exact) < 0) farside_rt_send_for(section, pointer);
}

#define WANT(structure)                                                                                                \
    PART void farside_rt_want_##structure(const struct farside_section *section, const void *pointer) {                \
        if (section->id && farside_slot_(section, farside_line_(section, number(pointer))) < 0)                        \
            farside_rt_send_for(section, pointer);                                                                     \
    }

WANT(set)
WANT(full)

/*
 * Sends for what the pointer leads to that is at `at`, if it is here, and something was missing lately. It may be anything: the
 * program has not looked at it yet.
 */
PART void farside_rt_follow_known(const struct farside_section *section, const void *at, uint32_t shift, uint32_t ways,
                                  int exact) {
    const void *next;
    int64_t slot;
    if (__builtin_expect(!farside_rt_misses(section), 1) || section->shared) return;
    slot = slot_known(section, number(at), shift, ways, exact);
    if (slot < 0 || is_split_known(number(at), sizeof next, shift)) return;
    memcpy(&next, in_slot_known(section, slot, number(at), shift), sizeof next);
    farside_rt_want_known(section, next, shift, ways, exact);
}

#define FOLLOW(structure)                                                                                              \
    PART void farside_rt_follow_##structure(const struct farside_section *section, const void *at) {                   \
        const void *next;                                                                                              \
        int64_t slot;                                                                                                  \
        if (!section->id || section->shared || !farside_rt_misses(section)) return;                                    \
        slot = farside_slot_(section, farside_line_(section, number(at)));                                             \
        if (slot < 0 || farside_is_split(section, number(at), sizeof next)) return;                                    \
        memcpy(&next, farside_in_slot_(section, slot, number(at)), sizeof next);                                       \
        farside_rt_want_##structure(section, next);                                                                    \
    }

FOLLOW(set)
FOLLOW(full)

#endif
