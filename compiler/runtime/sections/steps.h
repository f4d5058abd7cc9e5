/* What lookups consist of. */
#ifndef FARSIDE_RUNTIME_SECTIONS_STEPS_H
#define FARSIDE_RUNTIME_SECTIONS_STEPS_H

#include "plain.h"

CALL void farside_rt_fetch(const struct farside_section *section, const void *pointer, size_t size) {
    (void)section;
    farside_fetch(number(pointer), size);
}

CALL void farside_rt_flush(const struct farside_section *section, const void *pointer, size_t size) {
    (void)section;
    farside_evict_soon(number(pointer), size);
}

CALL void *farside_rt_address(const struct farside_section *section, void *pointer, size_t size, int written) {
    if (!(number(pointer) >> FARSIDE_ID_SHIFT_)) return pointer;
    PROFILE_LOOKUP(pointer, size, written, section->shift);
    return written ? farside_at_mut(section, number(pointer), size) : (void *)farside_at(section, number(pointer));
}

CALL void farside_rt_wait(const struct farside_section *section, const void *pointer) {
    if (number(pointer) >> FARSIDE_ID_SHIFT_) farside_wait(section, number(pointer));
}

#endif
