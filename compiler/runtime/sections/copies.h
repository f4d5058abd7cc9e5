/* Sections that the main thread writes to, and that each other thread reads through a copy of its own. */
#ifndef FARSIDE_RUNTIME_SECTIONS_COPIES_H
#define FARSIDE_RUNTIME_SECTIONS_COPIES_H

#include "own.h"

/*
 * What all threads know of such a section: how often something was written since the program started, and its number,
 * once it is open. In a line of the processor's cache that is nobody else's.
 */
struct farside_rt_copied {
    uint64_t version;
    uint64_t id;
    uint64_t unused[6];
};

extern void farside_section_copy_(struct farside_section *section, const struct farside_section_options *how,
                                  uint32_t id) __attribute__((weak));
extern void farside_section_renew_(uint32_t id) __attribute__((weak));

/* The main thread's section is open, or is not. */
CALL void farside_rt_share(const struct farside_section *section, struct farside_rt_copied *copied) {
    copied->id = section->id;
}

/*
 * The main thread has written something. It says so before it does anything by which other threads learn of that, and
 * nobody else writes.
 */
PART void farside_rt_changed(struct farside_rt_copied *copied) {
    const uint64_t version = __atomic_load_n(&copied->version, __ATOMIC_RELAXED);
    __atomic_store_n(&copied->version, version + 1, __ATOMIC_RELEASE);
}

/*
 * Opens the calling thread's copy, unless it is the main thread, or another unit of the program did. There is one
 * wherever the section is more than plain memory. It is closed when the thread ends, or else when another thread has its
 * place.
 */
CALL void farside_rt_copy_open(struct farside_section *section, const struct farside_section_options *how,
                               const struct farside_rt_capacity *table, uint64_t count, struct farside_rt_copied *copied,
                               struct farside_rt_copy *copy, uint64_t *settled, uint64_t bit) {
    const int before = errno;
    struct farside_section_options chosen = *how;
    if (section->base != farside_rt_plain.base) return;
    if (!copied->id || !farside_section_copy_) {
        section->base = SETTLED_;
        return;
    }
    if (count) chosen.capacity = capacity_of(how, table, count);
    /* What is read from now on is at least as new. */
    copy->seen = __atomic_load_n(&copied->version, __ATOMIC_ACQUIRE);
    farside_section_copy_(section, &chosen, (uint32_t)copied->id);
    copy->settled = settled;
    copy->bit = bit;
    if (__atomic_load_n(&farside_rt_own_begun, __ATOMIC_ACQUIRE)) farside_rt_own_enter(section, copy);
    errno = before;
}

SLOW void farside_rt_renew_now(const struct farside_section *section, const struct farside_rt_copied *copied,
                               struct farside_rt_copy *copy) {
    copy->seen = __atomic_load_n(&copied->version, __ATOMIC_ACQUIRE);
    if (copy->settled) farside_section_renew_(section->id);
}

/*
 * The calling thread may have learned of what others have done: if something was written since it looked last, what it
 * has of the section is dropped.
 */
PART void farside_rt_renew(const struct farside_section *section, const struct farside_rt_copied *copied,
                           struct farside_rt_copy *copy) {
    if (__builtin_expect(__atomic_load_n(&copied->version, __ATOMIC_ACQUIRE) != copy->seen, 0))
        farside_rt_renew_now(section, copied, copy);
}

#endif
