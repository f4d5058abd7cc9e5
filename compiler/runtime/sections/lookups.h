/* Looking up what is accessed, in sections of any structure. */
#ifndef FARSIDE_RUNTIME_SECTIONS_LOOKUPS_H
#define FARSIDE_RUNTIME_SECTIONS_LOOKUPS_H

#include "plain.h"

#include <time.h>

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
 * something was, set when it is, and less by one each time that a loop asks. `ahead`: so many turns ahead loops sent for what
 * they come to, or 0.
 */
struct __attribute__((may_alias)) noted {
    uint32_t missing : 4, ahead : 28;
};

static struct noted noted(const struct farside_section *section) {
    return *(const volatile struct noted *)&section->unused_;
}

/* Threads that share a section may forget what others note at the same time. */
static void note(const struct farside_section *section, struct noted what) {
    *(volatile struct noted *)&section->unused_ = what;
}

/* Loops are told so for that many times more. */
#define MISSED_ 11u
/* Pointers whose lines are sent for together. */
#define MOST_TOGETHER_ 16
/* How far ahead is sent for before it is known how long turns take, and at most. */
#define FIRST_TURNS_ 64u
#define MOST_TURNS_ 1024u
/* Threads that share a section share its room for what they send for. */
#define TURNS_OF_SHARED_ 32u

static void note_missing(const struct farside_section *section) {
    struct noted now = noted(section);
    now.missing = MISSED_;
    note(section, now);
}

PART uint32_t farside_rt_misses(const struct farside_section *section) {
    struct noted now = noted(section);
    if (!now.missing) return 0;
    now.missing--;
    note(section, now);
    return 1;
}

CALL uint64_t farside_rt_clock(void) {
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/*
 * How many turns ahead a loop sends for what it comes to: twice as many as are made until it is here, and those in which
 * enough comes together to send for. The last `turns` of them began at `since`; if that is 0, nothing is known of them. More is
 * not better: what is here too early is in the way of what is used before. The library knows how long what is sent for takes.
 */
CALL uint64_t farside_rt_turns_until_here(const struct farside_section *section, uint64_t since, uint64_t turns) {
    struct noted now = noted(section);
    const uint64_t before = now.ahead ? now.ahead : FIRST_TURNS_;
    uint64_t latency, ahead;
    if (section->shared) return TURNS_OF_SHARED_;
    if (!since || !section->id || !farside_section_latency_) return before;
    latency = farside_section_latency_(section->id);
    if (!latency) return before;
    ahead = MOST_TOGETHER_ + 2 * turns * latency / (farside_rt_clock() - since + 1);
    /* Turns may have taken long because of what another program did. */
    if (ahead < before) ahead = before - (before - ahead + 3) / 4;
    now.ahead = ahead < MOST_TURNS_ ? (uint32_t)ahead : MOST_TURNS_;
    note(section, now);
    return now.ahead;
}

/* Pointers whose lines are sent for together. Only those to sections that this thread alone uses come here. */
static __thread farside_ptr farside_rt_wanted[MOST_TOGETHER_];
static __thread uint32_t farside_rt_wanted_count;

static void send_wanted(void) {
    const uint32_t count = farside_rt_wanted_count;
    farside_rt_wanted_count = 0;
    farside_section_want_(farside_rt_wanted, count);
}

/*
 * What came ahead is found by the library when it is first used, and not waited for: what is to be sent for together need not
 * leave before there is enough of it. What is waited for may be among that.
 */
static void *missed(const struct farside_section *section, const void *pointer) {
    void *here;
    if (!(number(pointer) >> FARSIDE_ID_SHIFT_)) return number_at(number(pointer));
    here = farside_section_here_ ? farside_section_here_(number(pointer)) : 0;
    if (here) return here;
    if (farside_rt_wanted_count && !section->shared) send_wanted();
    note_missing(section);
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
