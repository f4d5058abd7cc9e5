/* Loops in which only some fields of records come and go. */
#ifndef FARSIDE_RUNTIME_SECTIONS_FIELDS_H
#define FARSIDE_RUNTIME_SECTIONS_FIELDS_H

#include "plain.h"

/* Such a loop. It is left as it is the next `pauses` times; `last` is how often that was, the last time it was found to be. */
struct farside_rt_scope {
    uint32_t record, count, pauses, last;
    struct farside_field fields[8];
};

#define MOST_PAUSES_ 65535u

/* How many loops are within one another in which fields of a section are selected, by the section's number. */
static uint32_t selecting[256];

/* Whether so much has come since everything left that it cannot all have room; some slots tell for all. */
static int is_full(const struct farside_section *section) {
    const uint64_t slots = (uint64_t)section->sets * section->ways, step = slots / 64 + 1;
    uint64_t slot, looked = 0, empty = 0;
    for (slot = 0; slot < slots; slot += step, ++looked)
        empty += (__atomic_load_n(&section->states[slot], __ATOMIC_RELAXED) & FARSIDE_STATE_) == 0;
    return empty * 4 <= looked;
}

/*
 * A loop begins that uses these fields only. What is within it uses no others, so that a loop in it changes nothing. Null
 * if all comes and goes as ever.
 */
CALL struct farside_rt_scope *farside_rt_select(const struct farside_section *section, struct farside_rt_scope *scope) {
    const uint32_t id = section->id;
    if (!id || section->shared) return 0;
    if (!selecting[id]) {
        if (scope->pauses) {
            --scope->pauses;
            return 0;
        }
        if (farside_section_select_(id, scope->record, scope->fields, scope->count)) return 0;
    }
    ++selecting[id];
    return scope;
}

/* It has ended. If it went through less than the section has room for, it is dearer so than it was: it is seldom tried again. */
CALL void farside_rt_select_all(const struct farside_section *section, struct farside_rt_scope *scope) {
    const uint32_t id = section->id;
    if (!scope || --selecting[id]) return;
    scope->last = is_full(section) ? 0 : scope->last * 2 + 1;
    if (scope->last > MOST_PAUSES_) scope->last = MOST_PAUSES_;
    scope->pauses = scope->last;
    /* Nothing is pinned, so that it does not fail; what is not here any more would be zeros. */
    if (farside_section_select_(id, 0, 0, 0)) __builtin_trap();
}

#endif
