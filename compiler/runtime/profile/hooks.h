/*
 * What sections.c tells the profile, if it is compiled for programs that are profiled; else nothing. It comes before
 * farside/section.h.
 */
#ifndef FARSIDE_PROFILE_HOOKS_H
#define FARSIDE_PROFILE_HOOKS_H

#ifdef FARSIDE_PROFILE

#include <stddef.h>
#include <stdint.h>

/* What is missing is asked for there, so that it can be timed. */
#define farside_section_miss_ farside_profile_miss_
#define farside_section_pin_ farside_profile_pin_

#define PROFILE_HIDDEN_ __attribute__((visibility("hidden")))
/* What is called from where much is held in registers. */
#define PROFILE_CALL_ __attribute__((preserve_most, noinline, nothrow, visibility("hidden")))

struct farside_section;
struct farside_section_options;

/* As in farside/section.h. */
#ifndef FARSIDE_ID_SHIFT_
#define FARSIDE_ID_SHIFT_ 56
#endif

/*
 * What a function looked up in a section, in one thread. What is counted apart does not lie side by side: if both were counted
 * by one store, the next load of one of them would have to wait for it, and with it for all that is loaded before.
 */
struct farside_profile_lookups_ {
    uint64_t reads, misses, writes, miss_ticks;
};

/* Whether the program is profiled in this run. */
extern PROFILE_HIDDEN_ int farside_profile_on_;
PROFILE_HIDDEN_ void farside_profile_opened_(const struct farside_section *section,
                                             const struct farside_section_options *how);
PROFILE_CALL_ void farside_profile_lookup_(uint64_t pointer, size_t size, int written);
/* Of the function that runs, for each section by its number. Null unless the thread is profiled. */
extern PROFILE_HIDDEN_ __thread struct farside_profile_lookups_ *farside_profile_row_;
/* One less than of how many units one is traced, a power of two; and which of them. */
extern PROFILE_HIDDEN_ uint64_t farside_profile_mask_, farside_profile_chosen_;
PROFILE_HIDDEN_ void farside_profile_range_(uint64_t pointer, size_t size, int written);

/* Lookups are traced by units of at least a page, so that what is near is traced together. */
static inline __attribute__((always_inline)) uint32_t farside_profile_unit_shift_(uint32_t shift) {
    return shift > 12 ? shift : 12;
}

/*
 * Whether a unit is one of those that are traced. They are the same distance apart, so that lines which share a set of a
 * section are traced all or none.
 */
static inline __attribute__((always_inline)) int farside_profile_is_traced_(uint64_t unit) {
    return (unit & farside_profile_mask_) == farside_profile_chosen_;
}

/* The number of the section is above it. */
#define FARSIDE_PROFILE_OFFSET_ (((uint64_t)1 << FARSIDE_ID_SHIFT_) - 1)

/* Bytes of one line. Most of what is looked up is not traced, and only counted. */
static inline __attribute__((always_inline)) void farside_profile_count_(uint64_t pointer, size_t size, int written,
                                                                         uint32_t shift) {
    const uint32_t unit_shift = farside_profile_unit_shift_(shift);
    struct farside_profile_lookups_ *row = farside_profile_row_;
    if (!row) return;
    if (written)
        row[pointer >> FARSIDE_ID_SHIFT_].writes++;
    else
        row[pointer >> FARSIDE_ID_SHIFT_].reads++;
    if (__builtin_expect(farside_profile_is_traced_((pointer & FARSIDE_PROFILE_OFFSET_) >> unit_shift), 0))
        farside_profile_lookup_(pointer, size, written);
}

#define PROFILE_IS_FAR_(pointer) ((uint64_t)(uintptr_t)(pointer) >> FARSIDE_ID_SHIFT_)

#define PROFILE_OPENED(section, how) farside_profile_opened_(section, how)
/* One lookup of so many bytes of one line. */
#define PROFILE_LOOKUP(pointer, size, written, shift)                                                                  \
    do {                                                                                                               \
        if (PROFILE_IS_FAR_(pointer)) farside_profile_count_((uint64_t)(uintptr_t)(pointer), size, written, shift);    \
    } while (0)
/* Bytes that are looked up line by line. */
#define PROFILE_RANGE(pointer, size, written)                                                                          \
    do {                                                                                                               \
        if (farside_profile_on_ && PROFILE_IS_FAR_(pointer))                                                           \
            farside_profile_range_((uint64_t)(uintptr_t)(pointer), size, written);                                     \
    } while (0)
/* What so many turns of a loop use of one line: it is looked up once. */
#define PROFILE_HELD(pointer, size, stride, turns, written, shift)                                                     \
    do {                                                                                                               \
        const int64_t way_ = (stride) * (int64_t)((turns) - 1);                                                        \
        PROFILE_LOOKUP((uint64_t)(uintptr_t)(pointer) + (uint64_t)(way_ < 0 ? way_ : 0),                               \
                       (size) + (uint64_t)(way_ < 0 ? -way_ : way_), written, shift);                                  \
    } while (0)

#else

#define PROFILE_OPENED(section, how) ((void)0)
#define PROFILE_LOOKUP(pointer, size, written, shift) ((void)0)
#define PROFILE_RANGE(pointer, size, written) ((void)0)
#define PROFILE_HELD(pointer, size, stride, turns, written, shift) ((void)0)

#endif

#endif
