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

/* Whether the program is profiled in this run. */
extern PROFILE_HIDDEN_ int farside_profile_on_;
PROFILE_HIDDEN_ void farside_profile_opened_(const struct farside_section *section,
                                             const struct farside_section_options *how);
PROFILE_CALL_ void farside_profile_lookup_(uint64_t pointer, size_t size, int written);
PROFILE_HIDDEN_ void farside_profile_range_(uint64_t pointer, size_t size, int written);

#define PROFILED_(pointer) __builtin_expect(farside_profile_on_ && (uint64_t)(uintptr_t)(pointer) >> FARSIDE_ID_SHIFT_, 0)

#define PROFILE_OPENED(section, how) farside_profile_opened_(section, how)
/* One lookup of so many bytes, which may be more than one access needs. */
#define PROFILE_LOOKUP(pointer, size, written)                                                                         \
    do {                                                                                                               \
        if (PROFILED_(pointer)) farside_profile_lookup_((uint64_t)(uintptr_t)(pointer), size, written);                \
    } while (0)
/* Bytes that are looked up line by line. */
#define PROFILE_RANGE(pointer, size, written)                                                                          \
    do {                                                                                                               \
        if (PROFILED_(pointer)) farside_profile_range_((uint64_t)(uintptr_t)(pointer), size, written);                 \
    } while (0)
/* What so many turns of a loop use of one line: it is looked up once. */
#define PROFILE_HELD(pointer, size, stride, turns, written)                                                            \
    do {                                                                                                               \
        const int64_t way_ = (stride) * (int64_t)((turns) - 1);                                                        \
        PROFILE_LOOKUP((uint64_t)(uintptr_t)(pointer) + (uint64_t)(way_ < 0 ? way_ : 0),                               \
                       (size) + (uint64_t)(way_ < 0 ? -way_ : way_), written);                                         \
    } while (0)

#else

#define PROFILE_OPENED(section, how) ((void)0)
#define PROFILE_LOOKUP(pointer, size, written) ((void)0)
#define PROFILE_RANGE(pointer, size, written) ((void)0)
#define PROFILE_HELD(pointer, size, stride, turns, written) ((void)0)

#endif

#endif
