/* The same for sections whose shape the compiler knows, and lookups that fetch nothing. */
#ifndef FARSIDE_RUNTIME_SECTIONS_KNOWN_H
#define FARSIDE_RUNTIME_SECTIONS_KNOWN_H

#include "lookups.h"

/*
 * The same for sections whose shape the compiler knows: `ways` is 1 or 2, lines have 1 << `shift` bytes, `exact` says
 * whether the number of sets is a power of two, and `blocks` whether it is known which blocks of a line were written.
 * Nobody else uses the section, so nothing of it changes between two lookups but by calls.
 */
PART int64_t slot_known(const struct farside_section *section, uint64_t pointer, uint32_t shift, uint32_t ways,
                        int exact) {
    __extension__ typedef unsigned __int128 wide;
    const uint64_t line = (pointer - section->base) >> shift;
    /* Plain memory has one set, and no such factor. */
    const uint64_t set = exact ? line & (section->sets - 1)
                               : (uint64_t)((wide)(section->magic * (uint32_t)line) * section->sets >> 64);
    uint64_t slot = set * ways;
    /*
     * Which of two it is cannot be foreseen, so that no branch depends on it. Where the bytes are is known only once the
     * tags are; the processor loads both places meanwhile.
     */
    if (ways == 2) {
        const unsigned char *first = section->data + (slot << shift) + (pointer & (((uint64_t)1 << shift) - 1));
        __builtin_prefetch(first);
        __builtin_prefetch(first + ((uint64_t)1 << shift));
        slot += section->tags[slot + 1] == line;
    }
    return __builtin_expect(section->tags[slot] == line, 1) ? (int64_t)slot : -1;
}

PART int is_split_known(uint64_t pointer, size_t size, uint32_t shift) {
    const uint64_t line = (uint64_t)1 << shift;
    return (pointer & (line - 1)) + size > line;
}

PART void *in_slot_known(const struct farside_section *section, int64_t slot, uint64_t pointer, uint32_t shift) {
    return section->data + ((uint64_t)slot << shift) + (pointer & (((uint64_t)1 << shift) - 1));
}

PART void mark_known(const struct farside_section *section, int64_t slot, void *address, size_t size, int blocks) {
    if (blocks)
        farside_note_written(section, address, size);
    else if (__builtin_expect(!(section->states[slot] & FARSIDE_DIRTY_), 0))
        section->states[slot] |= FARSIDE_DIRTY_;
}

PART const void *farside_rt_read_known(const struct farside_section *section, const void *pointer, size_t size,
                                       int whole, void *copy, int alone, uint32_t shift, uint32_t ways, int exact) {
    int64_t slot;
    if (__builtin_expect(is_shared(section, alone) || (!whole && is_split_known(number(pointer), size, shift)), 0)) {
        farside_rt_read_parts(section, pointer, size, copy);
        return copy;
    }
    PROFILE_LOOKUP(pointer, size, 0, shift);
    slot = slot_known(section, number(pointer), shift, ways, exact);
    if (__builtin_expect(slot < 0, 0)) return is_plain(pointer) ? pointer : farside_rt_miss(section, pointer);
    return in_slot_known(section, slot, number(pointer), shift);
}

PART void *farside_rt_write_known(const struct farside_section *section, void *pointer, size_t size, int whole,
                                  void *copy, int alone, uint32_t shift, uint32_t ways, int exact, int blocks) {
    int64_t slot;
    void *address;
    if (__builtin_expect(is_shared(section, alone) || (!whole && is_split_known(number(pointer), size, shift)), 0))
        return copy;
    PROFILE_LOOKUP(pointer, size, 1, shift);
    slot = slot_known(section, number(pointer), shift, ways, exact);
    if (__builtin_expect(slot < 0, 0)) return is_plain(pointer) ? pointer : farside_rt_miss_mut(section, pointer, size);
    address = in_slot_known(section, slot, number(pointer), shift);
    mark_known(section, slot, address, size, blocks);
    return address;
}

/*
 * The address of bytes if they are here, in one line that nobody else uses; else null. `written`: they will be, and it is
 * taken note of.
 */
PART void *farside_rt_here_known(const struct farside_section *section, void *pointer, size_t size, int written,
                                 int alone, uint32_t shift, uint32_t ways, int exact, int blocks) {
    const int64_t slot = slot_known(section, number(pointer), shift, ways, exact);
    void *address;
    if (__builtin_expect(slot < 0, 0)) return is_plain(pointer) ? pointer : 0;
    if (__builtin_expect(is_shared(section, alone) || is_split_known(number(pointer), size, shift), 0)) return 0;
    PROFILE_LOOKUP(pointer, size, written, shift);
    address = in_slot_known(section, slot, number(pointer), shift);
    if (written) mark_known(section, slot, address, size, blocks);
    return address;
}

#define HERE(structure)                                                                                                \
    PART void *farside_rt_here_##structure(const struct farside_section *section, void *pointer, size_t size,          \
                                           int written, int alone) {                                                   \
        int64_t slot;                                                                                                  \
        void *address;                                                                                                 \
        if (!(number(pointer) >> FARSIDE_ID_SHIFT_)) return pointer;                                                   \
        if (is_shared(section, alone) || farside_is_split(section, number(pointer), size)) return 0;                   \
        slot = farside_slot_##structure##_(section, farside_line_(section, number(pointer)));                          \
        if (slot < 0) return 0;                                                                                        \
        PROFILE_LOOKUP(pointer, size, written, section->shift);                                                        \
        address = farside_in_slot_(section, slot, number(pointer));                                                    \
        if (written) farside_note_written(section, address, size);                                                     \
        return address;                                                                                                \
    }

HERE(set)
HERE(full)

PART void farside_rt_written(const struct farside_section *section, void *pointer, size_t size, const void *address,
                             const void *copy) {
    if (__builtin_expect(address == copy, 0)) farside_rt_write_parts(section, pointer, size, copy);
}

#endif
