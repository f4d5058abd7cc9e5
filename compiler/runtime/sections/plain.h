/* What pointers are, and sections before they are opened. */
#ifndef FARSIDE_RUNTIME_SECTIONS_PLAIN_H
#define FARSIDE_RUNTIME_SECTIONS_PLAIN_H

#include "../profile/hooks.h"

#include <farside/section.h>

/* What is inlined, which the linker needs none of; and what is not. */
#ifdef FARSIDE_FOR_LINKER
#define PART static inline __attribute__((always_inline, nothrow, unused))
#else
#define PART __attribute__((always_inline, nothrow, visibility("hidden")))
#endif
#define SLOW __attribute__((noinline, cold, nothrow, visibility("hidden")))
#define CALL __attribute__((noinline, nothrow, visibility("hidden")))

/* What a section is before it is opened. */
__attribute__((visibility("hidden"))) const struct farside_section farside_rt_plain = {
    farside_no_tags_, farside_no_states_, 0, (unsigned char *)farside_no_tags_, 0, (farside_ptr)0xff << FARSIDE_ID_SHIFT_, 0, 1, 1, 0, 0, 6, 6, 0, 0, 0, 0, 0,
};

/* The base of one that stays plain: no pointer is behind it, either. */
#define SETTLED_ ((farside_ptr)0xfe << FARSIDE_ID_SHIFT_)

static void *number_at(uint64_t pointer) { return (void *)(uintptr_t)pointer; }
static uint64_t number(const void *pointer) { return (uint64_t)(uintptr_t)pointer; }

/* A section may be plain memory while others of the same function are not, and then it is so for good. */
PART int is_plain(const void *pointer) { return !(number(pointer) >> FARSIDE_ID_SHIFT_); }

/* Whether other threads use a section. Of one that is `alone` the compiler knows that none do. */
PART int is_shared(const struct farside_section *section, int alone) { return !alone && section->shared; }

#endif
