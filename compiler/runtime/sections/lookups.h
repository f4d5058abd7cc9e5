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
 * How lately something was missing, in the part of a section that nobody else uses: set by what was, and halved each time
 * that a loop asks. It does change, unlike the rest.
 */
static volatile uint32_t *missing(const struct farside_section *section) {
    return (volatile uint32_t *)&section->unused_;
}

/* Loops are told so for ten times more. */
#define MISSED_ 1024u

PART uint32_t farside_rt_misses(const struct farside_section *section) {
    volatile uint32_t *place = missing(section);
    const uint32_t lately = *place;
    if (lately) *place = lately / 2;
    return lately != 0;
}

/*
 * Pointers whose lines are sent for together. Only those to sections that one thread uses come here, which is the same for all
 * of them.
 */
#define MOST_TOGETHER_ 16
static farside_ptr farside_rt_wanted[MOST_TOGETHER_];
static uint32_t farside_rt_wanted_count;

static void send_wanted(void) {
    const uint32_t count = farside_rt_wanted_count;
    farside_rt_wanted_count = 0;
    farside_section_want_(farside_rt_wanted, count);
}

/* What is waited for may be among those. */
static void *missed(const struct farside_section *section, const void *pointer) {
    if (farside_rt_wanted_count && !section->shared) send_wanted();
    if (number(pointer) >> FARSIDE_ID_SHIFT_) *missing(section) = MISSED_;
    return farside_missed_(number(pointer));
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
 * if they lie across the end of a line or if other threads use the section. `whole`: they never lie so.
 */
#define READ(structure)                                                                                                \
    PART const void *farside_rt_read_##structure(const struct farside_section *section, const void *pointer,           \
                                                 size_t size, int whole, void *copy) {                                 \
        if (__builtin_expect(section->shared || (!whole && farside_is_split(section, number(pointer), size)), 0)) {    \
            farside_rt_read_parts(section, pointer, size, copy);                                                       \
            return copy;                                                                                               \
        }                                                                                                              \
        PROFILE_LOOKUP(pointer, size, 0, section->shift);                                                              \
        return at_##structure(section, pointer);                                                                       \
    }

/* The same for bytes that will be written; when they are, comes farside_rt_written() with what this returned. */
#define WRITE(structure)                                                                                               \
    PART void *farside_rt_write_##structure(const struct farside_section *section, void *pointer, size_t size,         \
                                            int whole, void *copy) {                                                   \
        void *address;                                                                                                 \
        if (__builtin_expect(section->shared || (!whole && farside_is_split(section, number(pointer), size)), 0))      \
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
    if (section->full) return farside_rt_read_full(section, pointer, size, whole, copy);
    return farside_rt_read_set(section, pointer, size, whole, copy);
}

CALL void *farside_rt_write_apart(const struct farside_section *section, void *pointer, size_t size, int whole,
                                  void *copy) {
    if (section->full) return farside_rt_write_full(section, pointer, size, whole, copy);
    return farside_rt_write_set(section, pointer, size, whole, copy);
}

#endif
