/* Looking up what is accessed, in sections of any structure. */
#ifndef FARSIDE_RUNTIME_SECTIONS_LOOKUPS_H
#define FARSIDE_RUNTIME_SECTIONS_LOOKUPS_H

#include "plain.h"

SLOW void farside_rt_read_parts(const struct farside_section *section, const void *pointer, size_t size, void *into) {
    PROFILE_RANGE(pointer, size, 0);
    farside_read(section, into, number(pointer), size);
}

SLOW void farside_rt_write_parts(const struct farside_section *section, void *pointer, size_t size, const void *from) {
    PROFILE_RANGE(pointer, size, 1);
    farside_write(section, number(pointer), from, size);
}

/*
 * What is noted in the part of a section that nobody else uses. It does change, unlike the rest. `missing`: how lately
 * something was, set when it is, and halved each time that a loop asks. `turns`: how many turns of a short loop it takes until
 * what is sent for is here, by how long the program had to wait for what was missing; 0 at first.
 */
struct __attribute__((may_alias)) noted {
    uint16_t missing, turns;
};

static volatile struct noted *noted(const struct farside_section *section) {
    return (volatile struct noted *)&section->unused_;
}

/* Loops are told so for ten times more. */
#define MISSED_ 1024u
/* A short turn, in cycles. What takes longer is sent for earlier than it need be, which does no harm. */
#define CYCLES_OF_TURN_ 128u
/* Many at a time are sent for with less work for each, however soon they come. */
#define LEAST_TURNS_ 256u
#define MOST_TURNS_ 1024u
/* Threads that share a section share its room for what they send for. */
#define TURNS_OF_SHARED_ 32u

PART uint32_t farside_rt_misses(const struct farside_section *section) {
    volatile struct noted *place = noted(section);
    const uint16_t lately = place->missing;
    if (lately) place->missing = lately / 2;
    return lately != 0;
}

PART uint64_t farside_rt_turns_until_here(const struct farside_section *section) {
    const uint16_t turns = noted(section)->turns;
    if (section->shared) return TURNS_OF_SHARED_;
    return turns ? turns : LEAST_TURNS_;
}

/* Of short waits it is not known how long all of it would have been: much had come already, or was here. */
static void note_wait(const struct farside_section *section, uint64_t cycles) {
    const uint64_t known = farside_rt_turns_until_here(section), took = cycles / CYCLES_OF_TURN_;
    uint64_t turns = known;
    if (section->shared) return;
    /* One that took very long may have been another program's. */
    if (took > known)
        turns += ((took < 2 * known ? took : 2 * known) - known + 7) / 8;
    else if (took > known / 2)
        turns -= (known - took) / 32;
    if (turns < LEAST_TURNS_) turns = LEAST_TURNS_;
    noted(section)->turns = (uint16_t)(turns < MOST_TURNS_ ? turns : MOST_TURNS_);
}

/* Pointers whose lines are sent for together. Only those to sections that this thread alone uses come here. */
#define MOST_TOGETHER_ 16
static __thread farside_ptr farside_rt_wanted[MOST_TOGETHER_];
static __thread uint32_t farside_rt_wanted_count;

static void send_wanted(void) {
    const uint32_t count = farside_rt_wanted_count;
    farside_rt_wanted_count = 0;
    farside_section_want_(farside_rt_wanted, count);
}

/* What is waited for may be among those. */
static void *missed(const struct farside_section *section, const void *pointer) {
    uint64_t before;
    void *address;
    if (!(number(pointer) >> FARSIDE_ID_SHIFT_)) return number_at(number(pointer));
    before = __builtin_readcyclecounter();
    if (farside_rt_wanted_count && !section->shared) send_wanted();
    address = farside_missed_(number(pointer));
    noted(section)->missing = MISSED_;
    note_wait(section, __builtin_readcyclecounter() - before);
    return address;
}

SLOW void *farside_rt_miss(const struct farside_section *section, const void *pointer) {
    return missed(section, pointer);
}

SLOW void *farside_rt_miss_mut(const struct farside_section *section, const void *pointer, size_t size) {
    void *address = missed(section, pointer);
    farside_note_written(section, address, size);
    return address;
}

#define AT(structure, there)                                                                                           \
    PART void *at_##structure(const struct farside_section *section, const void *pointer) {                            \
        const uint64_t line = farside_line_(section, number(pointer));                                                 \
        const int64_t slot = (there) ? farside_slot_##structure##_(section, line) : -1;                                \
        if (__builtin_expect(slot < 0, 0)) return farside_rt_miss(section, pointer);                                   \
        return farside_in_slot_(section, slot, number(pointer));                                                       \
    }

AT(set, 1)
/* Plain memory has no places to look at. */
AT(full, section->full)

/*
 * The address of `size` bytes for the operation that comes next: in their line, or in `copy`, where they are copied to
 * if they lie across the end of a line or if other threads use the section. `whole`: they never lie so. Of bytes that are
 * whole, in a section that is `alone`, there is no copy.
 */
#define READ(structure)                                                                                                \
    PART const void *farside_rt_read_##structure(const struct farside_section *section, const void *pointer,           \
                                                 size_t size, int whole, void *copy, int alone) {                      \
        if (__builtin_expect(is_shared(section, alone) || (!whole && farside_is_split(section, number(pointer), size)), 0)) {\
            farside_rt_read_parts(section, pointer, size, copy);                                                       \
            return copy;                                                                                               \
        }                                                                                                              \
        PROFILE_LOOKUP(pointer, size, 0, section->shift);                                                              \
        return at_##structure(section, pointer);                                                                       \
    }

/* The same for bytes that will be written; when they are, comes farside_rt_written() with what this returned. */
#define WRITE(structure)                                                                                               \
    PART void *farside_rt_write_##structure(const struct farside_section *section, void *pointer, size_t size,         \
                                            int whole, void *copy, int alone) {                                        \
        void *address;                                                                                                 \
        if (__builtin_expect(is_shared(section, alone) || (!whole && farside_is_split(section, number(pointer), size)), 0))\
            return copy;                                                                                               \
        PROFILE_LOOKUP(pointer, size, 1, section->shift);                                                              \
        address = at_##structure(section, pointer);                                                                    \
        farside_note_written(section, address, size);                                                                  \
        return address;                                                                                                \
    }

READ(set)
READ(full)
WRITE(set)
WRITE(full)

/* The same where it is seldom done, so that it is to make the program no longer. */
CALL const void *farside_rt_read_apart(const struct farside_section *section, const void *pointer, size_t size,
                                       int whole, void *copy) {
    if (section->full) return farside_rt_read_full(section, pointer, size, whole, copy, 0);
    return farside_rt_read_set(section, pointer, size, whole, copy, 0);
}

CALL void *farside_rt_write_apart(const struct farside_section *section, void *pointer, size_t size, int whole,
                                  void *copy) {
    if (section->full) return farside_rt_write_full(section, pointer, size, whole, copy, 0);
    return farside_rt_write_set(section, pointer, size, whole, copy, 0);
}

#endif
