/* Sections of which each thread has one. */
#ifndef FARSIDE_RUNTIME_SECTIONS_OWN_H
#define FARSIDE_RUNTIME_SECTIONS_OWN_H

#include "opening.h"

#include <limits.h>
#include <pthread.h>

/* A program that has no threads need not have them linked. */
#pragma weak pthread_key_create
#pragma weak pthread_key_delete
#pragma weak pthread_setspecific

#ifndef PTHREAD_DESTRUCTOR_ITERATIONS
#define PTHREAD_DESTRUCTOR_ITERATIONS 4
#endif

/* What a thread knows of its copy of a section: as of which version it is; and, if there is one, the bit of what is open. */
struct farside_rt_copy {
    uint64_t seen;
    uint64_t *settled;
    uint64_t bit;
    uint64_t unused;
};

extern void farside_section_copy_close_(uint32_t id) __attribute__((weak));

/* Sections that a thread has opened, the last one first. `copy`: what it knows of one that is a copy. */
struct farside_rt_owned {
    struct farside_section *section;
    struct farside_rt_copy *copy;
    struct farside_rt_owned *next;
    uint32_t rounds;
};

/* By it a thread knows what it has opened, and closes that when it ends. */
static pthread_key_t farside_rt_own_key;
static int farside_rt_own_begun;
/* The first of them, and whether they are closed. */
static __thread struct farside_rt_owned *farside_rt_own_first;
static __thread int farside_rt_own_closed;

/* A copy may be opened anew, if destructors that come later need it: what they read is nowhere else. */
static void close_copy(struct farside_section *section, struct farside_rt_copy *copy) {
    farside_section_copy_close_(section->id);
    farside_section_plain_(section);
    *copy->settled &= ~copy->bit;
    copy->settled = 0;
}

/*
 * A thread ends: nothing is left of what is its own. Destructors of the program may use it still, and have their turns first,
 * as often as there are turns.
 */
static void farside_rt_own_close(void *unused) {
    struct farside_rt_owned *each = farside_rt_own_first, *next;
    (void)unused;
    if (++each->rounds < PTHREAD_DESTRUCTOR_ITERATIONS && !pthread_setspecific(farside_rt_own_key, each)) return;
    farside_rt_own_closed = 1;
    for (farside_rt_own_first = 0; each; each = next) {
        next = each->next;
        if (each->copy) {
            close_copy(each->section, each->copy);
        } else {
            farside_section_close(each->section);
            each->section->base = SETTLED_;
        }
        free(each);
    }
}

CALL void farside_rt_own_begin(void) {
    if (pthread_key_create && !pthread_key_create(&farside_rt_own_key, farside_rt_own_close))
        __atomic_store_n(&farside_rt_own_begun, 1, __ATOMIC_RELEASE);
}

/* What is here goes, since the program ends or the library is closed. Threads that go on keep what they have. */
CALL void farside_rt_own_end(void) {
    if (__atomic_exchange_n(&farside_rt_own_begun, 0, __ATOMIC_ACQ_REL)) pthread_key_delete(farside_rt_own_key);
}

/* Has the section closed when the thread ends; 0 if that cannot be. */
static int farside_rt_own_enter(struct farside_section *section, struct farside_rt_copy *copy) {
    struct farside_rt_owned *owned = (struct farside_rt_owned *)malloc(sizeof *owned);
    if (!owned) return 0;
    owned->section = section;
    owned->copy = copy;
    owned->next = farside_rt_own_first;
    owned->rounds = owned->next ? owned->next->rounds : 0;
    if (pthread_setspecific(farside_rt_own_key, owned)) {
        free(owned);
        return 0;
    }
    farside_rt_own_first = owned;
    return 1;
}

/*
 * Opens the calling thread's section, before it does anything with it, unless another unit of the program did, or could not.
 * How many threads there will be is not known, so that such a section is plain where there is no limit, and not because
 * there was room for what it held in an earlier run. Says whether it is more than plain memory, which does not change until
 * the thread ends.
 */
CALL uint8_t farside_rt_own_open(struct farside_section *section, const struct farside_section_options *how,
                                 const struct farside_rt_capacity *table, uint64_t count) {
    const struct farside_rt_asked asked = {how->name, 0, together, 0, 0};
    const int before = errno;
    if (section->base == farside_rt_plain.base && !farside_rt_own_closed &&
        __atomic_load_n(&farside_rt_own_begun, __ATOMIC_ACQUIRE) &&
        !(farside_section_fits_ && farside_section_fits_(&asked))) {
        struct farside_section_options chosen = *how;
        if (count) chosen.capacity = capacity_of(how, table, count);
        farside_section_open(section, &chosen);
        if (section->id && !farside_rt_own_enter(section, 0)) farside_section_close(section);
        errno = before;
    }
    if (!section->id) section->base = SETTLED_;
    return section->id != 0;
}

#endif
