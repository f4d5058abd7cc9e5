/* Opening sections before the program starts. */
#ifndef FARSIDE_RUNTIME_SECTIONS_OPENING_H
#define FARSIDE_RUNTIME_SECTIONS_OPENING_H

#include "plain.h"

/* What a section has where at least so much memory is local. */
struct farside_rt_capacity {
    uint64_t local, capacity;
};

extern size_t farside_local_limit(void) __attribute__((weak));

/* What the decision whether a section is plain memory is made by, in bytes; 0 is not known. */
struct farside_rt_asked {
    const char *name;
    uint64_t capacity, together, holds, paged;
};

extern int farside_section_fits_(const struct farside_rt_asked *asked) __attribute__((weak));

/*
 * The capacity for the limit that the program has at its start: the last of the table, which is in order, that is for no
 * more. Code is for a number of sets that is no power of two, unless it is one.
 */
static size_t capacity_of(const struct farside_section_options *how, const struct farside_rt_capacity *table,
                          uint64_t count) {
    const size_t local = farside_local_limit ? farside_local_limit() : 0;
    const size_t set = how->line * (how->ways ? how->ways : 1);
    size_t capacity = how->capacity, sets;
    for (; count && table->local <= local; --count, ++table) capacity = table->capacity;
    sets = capacity / set;
    return sets > 1 && !(sets & (sets - 1)) ? capacity - set : capacity;
}

/*
 * Capacities of all sections that will be opened here: of those that share memory only that of the largest; and of all, as
 * if none did.
 */
static uint64_t together, apart;

/*
 * A section will be opened. All are announced before the first one is; one that others share the memory of is announced, and
 * opened, right before them.
 */
CALL void farside_rt_announce(const struct farside_section_options *how, const struct farside_rt_capacity *table,
                              uint64_t count) {
    static uint64_t largest;
    struct farside_section *with = (struct farside_section *)how->with;
    const uint64_t capacity = capacity_of(how, table, count);
    if (!with) largest = 0;
    /* That it is one of several is known of the first of them, too, until it is opened. */
    if (with && with->base == farside_rt_plain.base) with->unused_ = 1;
    apart += capacity;
    if (capacity <= largest) return;
    together += capacity - largest;
    largest = capacity;
}

/*
 * Opens a section unless another unit of the program did, or could not. It is shared if one of them needs that. There may
 * be a table of capacities. A section that holds no more than it has room for stays plain; `holds` and `paged` are what it
 * holds and what the program uses besides its sections, if that is known. One that shares memory does only where there is
 * room for all sections at once. Says whether it is more than plain memory, which does not change any more.
 */
CALL uint8_t farside_rt_open(struct farside_section *section, const struct farside_section_options *how,
                             const struct farside_rt_capacity *table, uint64_t count, uint64_t holds,
                             uint64_t paged) {
    struct farside_section *with = (struct farside_section *)how->with;
    const uint32_t shared = section->shared | (how->shared != 0) | (with ? with->shared : 0);
    if (with) with->shared = shared;
    if (section->base == farside_rt_plain.base) {
        struct farside_section_options chosen = *how;
        struct farside_rt_asked asked = {how->name, 0, with || section->unused_ ? apart : together, holds, paged};
        section->unused_ = 0;
        if (count) chosen.capacity = capacity_of(how, table, count);
        asked.capacity = chosen.capacity;
        if (!farside_section_fits_ || !farside_section_fits_(&asked)) farside_section_open(section, &chosen);
        PROFILE_OPENED(section, &chosen);
        if (!section->id) section->base = SETTLED_;
    }
    section->shared = shared;
    return section->id != 0;
}

#endif
