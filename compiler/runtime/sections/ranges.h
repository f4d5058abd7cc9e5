/* Copying and filling. */
#ifndef FARSIDE_RUNTIME_SECTIONS_RANGES_H
#define FARSIDE_RUNTIME_SECTIONS_RANGES_H

#include "plain.h"

/* As memmove() and memset(); each pointer may be remote or plain, and the section is that of those that are remote. */
CALL void farside_rt_move(const struct farside_section *to_section, const struct farside_section *from_section,
                          void *to, const void *from, size_t size) {
    unsigned char some[1024];
    const int remote_to = number(to) >> FARSIDE_ID_SHIFT_ != 0, remote_from = number(from) >> FARSIDE_ID_SHIFT_ != 0;
    PROFILE_RANGE(from, size, 0);
    PROFILE_RANGE(to, size, 1);
    if (!remote_to && !remote_from) {
        memmove(to, from, size);
    } else if (!remote_from) {
        farside_write(to_section, number(to), from, size);
    } else if (!remote_to) {
        farside_read(from_section, to, number(from), size);
    } else {
        /* Piece by piece, from the end on if the pieces would be written over before they are read. */
        const int backwards = number(to) > number(from);
        size_t done;
        for (done = 0; done < size; done += sizeof some) {
            const size_t part = size - done < sizeof some ? size - done : sizeof some;
            const size_t at = backwards ? size - done - part : done;
            farside_read(from_section, some, number(from) + at, part);
            farside_write(to_section, number(to) + at, some, part);
        }
    }
}

CALL void farside_rt_fill(const struct farside_section *section, void *to, int byte, size_t size) {
    PROFILE_RANGE(to, size, 1);
    if (number(to) >> FARSIDE_ID_SHIFT_)
        farside_fill(section, number(to), byte, size);
    else
        memset(to, byte, size);
}

#endif
