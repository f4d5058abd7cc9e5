/* Sending for what is used soon, one by one. */
#ifndef FARSIDE_RUNTIME_SECTIONS_AHEAD_H
#define FARSIDE_RUNTIME_SECTIONS_AHEAD_H

#include "known.h"

/*
 * Sends for the line of a pointer, `together` with others when there are so many. That it is followed is only likely: it may be
 * null, freed, or what memory held before.
 */
SLOW void farside_rt_send_for(const struct farside_section *section, const void *pointer, uint32_t together) {
    if (number(pointer) >> FARSIDE_ID_SHIFT_ != section->id || !section->id) return;
    note_missing(section);
    if (section->shared || together < 2 || !farside_section_want_) {
        farside_section_do_(number(pointer), 1, FARSIDE_DO_WANT_);
        return;
    }
    farside_rt_wanted[farside_rt_wanted_count++] = number(pointer);
    if (farside_rt_wanted_count >= together) send_wanted();
}

PART void farside_rt_want_known(const struct farside_section *section, const void *pointer, uint32_t together,
                                uint32_t shift, uint32_t ways, int exact) {
    if (slot_known(section, number(pointer), shift, ways, exact) < 0)
        farside_rt_send_for(section, pointer, together);
}

CALL void farside_rt_want(const struct farside_section *section, const void *pointer, uint32_t together) {
    if (section->id && farside_slot_(section, farside_line_(section, number(pointer))) < 0)
        farside_rt_send_for(section, pointer, together);
}

/* The address of bytes that are here, in one line that nobody else uses; else null. `pointer` may be any number. */
PART const void *farside_rt_peek_known(const struct farside_section *section, const void *pointer, size_t size,
                                       int alone, uint32_t shift, uint32_t ways, int exact) {
    const int64_t slot = slot_known(section, number(pointer), shift, ways, exact);
    if (slot < 0 || is_shared(section, alone) || is_split_known(number(pointer), size, shift)) return 0;
    return in_slot_known(section, slot, number(pointer), shift);
}

#define PEEK(structure)                                                                                                \
    PART const void *farside_rt_peek_##structure(const struct farside_section *section, const void *pointer,           \
                                                 size_t size, int alone) {                                             \
        int64_t slot;                                                                                                  \
        if (!section->id || is_shared(section, alone) || number(pointer) >> FARSIDE_ID_SHIFT_ != section->id)          \
            return 0;                                                                                                  \
        slot = farside_slot_(section, farside_line_(section, number(pointer)));                                        \
        if (slot < 0 || farside_is_split(section, number(pointer), size)) return 0;                                    \
        return farside_in_slot_(section, slot, number(pointer));                                                       \
    }

PEEK(set)
PEEK(full)

/*
 * Sends for what the pointer leads to that is at `at`, if it is here, and something was missing lately. It may be anything: the
 * program has not looked at it yet.
 */
PART void farside_rt_follow_known(const struct farside_section *section, const void *at, int alone, uint32_t shift,
                                  uint32_t ways, int exact) {
    const void *next;
    int64_t slot;
    if (__builtin_expect(!farside_rt_misses(section), 1) || is_shared(section, alone)) return;
    slot = slot_known(section, number(at), shift, ways, exact);
    if (slot < 0 || is_split_known(number(at), sizeof next, shift)) return;
    memcpy(&next, in_slot_known(section, slot, number(at), shift), sizeof next);
    farside_rt_want_known(section, next, 1, shift, ways, exact);
}

#define FOLLOW(structure)                                                                                              \
    PART void farside_rt_follow_##structure(const struct farside_section *section, const void *at, int alone) {        \
        const void *next;                                                                                              \
        int64_t slot;                                                                                                  \
        if (!section->id || is_shared(section, alone) || !farside_rt_misses(section)) return;                          \
        slot = farside_slot_(section, farside_line_(section, number(at)));                                             \
        if (slot < 0 || farside_is_split(section, number(at), sizeof next)) return;                                    \
        memcpy(&next, farside_in_slot_(section, slot, number(at)), sizeof next);                                       \
        farside_rt_want(section, next, 1);                                                                             \
    }

FOLLOW(set)
FOLLOW(full)

#endif
