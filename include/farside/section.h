/*
 * farside/section.h - sections: local caches of far memory that a program looks into by itself. C99 or
 * C++11, with GCC or Clang, for 64-bit machines. Nothing has to be linked.
 *
 * Paged memory comes by pages, and through the kernel. Where a program uses small pieces of large data,
 * it does better with a section for them: a cache of its own size, whose lines are as long as the pieces,
 * and in which a line that is here is found by a handful of instructions.
 *
 *     #include <farside/section.h>
 *
 *     struct farside_section nodes;
 *     struct farside_section_options how = {"nodes", 64 << 20, 128, 2};
 *     farside_section_open(&nodes, &how);
 *     farside_ptr all = farside_section_alloc(&nodes, count * sizeof(struct node), 0);
 *     ...
 *     farside_ptr node = all + i * sizeof(struct node);
 *     struct node *here = farside_at_mut(&nodes, node, sizeof *here);
 *     here->visits++;
 *
 * A remote pointer (farside_ptr) is a number: the section in the top 8 bits, the place in it below, so that
 * arithmetic on it is that of a char pointer, and 0 is none. What it points to has an address only while its
 * line is here:
 *
 * - If only one thread uses a section, an address is good until the next call with the same section that
 *   misses, or that fetches, flushes or frees. Who needs two lines at once pins one of them.
 * - If several threads do (`shared`), an address is good only while its line is pinned. farside_get,
 *   farside_set, farside_read and farside_write see to that themselves.
 * - Sections that share memory (`with`) are one section in this: a miss in one ends the addresses of all.
 * - What is written through an address has to be said (farside_at_mut, farside_pin_line_mut), before.
 *
 * What lies across the end of a line has no address: farside_read and farside_write copy it. Blocks that
 * farside_section_alloc returns do not lie across one if they are no longer than a line; elements of an
 * array do not if their size is a power of two.
 *
 * Without Farside, or where a section could not be opened, remote pointers are plain pointers, and all of
 * this is plain memory. Signal handlers must not use sections.
 */
#ifndef FARSIDE_SECTION_H
#define FARSIDE_SECTION_H

#ifdef __GNUC__
/* What macros expand to here is not for the program's warnings. */
#pragma GCC system_header
#endif

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef FARSIDE_WEAK
#if !defined(__clang__) && __GNUC__ >= 6
#define FARSIDE_WEAK __attribute__((weak, noplt))
#else
#define FARSIDE_WEAK __attribute__((weak))
#endif
#endif

#ifndef FARSIDE_INLINE
#define FARSIDE_INLINE static __inline__ __attribute__((always_inline, unused))
#endif

#ifndef __cplusplus
/* Which strict C does not declare. */
extern int posix_memalign(void **memory, size_t align, size_t size);
#endif

/* A remote pointer. */
typedef uint64_t farside_ptr;

/* Where in a section a line may be, besides sets of so many lines. */
#define FARSIDE_DIRECT 1u
#define FARSIDE_FULL 0u

struct farside_section;

/* What a section is to be. */
struct farside_section_options {
    /* For messages; may be null. */
    const char *name;
    /* Bytes of local memory, which the paged region lacks from then on. */
    size_t capacity;
    /* Bytes of a line: 64 to 2 MiB, a power of two. */
    size_t line;
    /* Lines of a set: FARSIDE_DIRECT for one, FARSIDE_FULL for all; any number between. */
    unsigned ways;
    /* Whether several threads use it at once. */
    int shared;
    /*
     * A section that is open and not used at the same time, whose local memory it shares; may be null. All
     * that share memory have as much as the largest of them. It is that one's which needed a line last; of
     * the others nothing is here then. If several threads use them, all are `shared`.
     */
    const struct farside_section *with;
};

/* How the program sees a section. Farside fills it in; nobody else needs to look at it. */
struct farside_section {
    uint32_t *tags;
    uint16_t *states;
    uint64_t *written;
    unsigned char *data;
    const uint32_t *places;
    farside_ptr base;
    uint64_t magic;
    uint32_t sets, ways, slots, place_count;
    uint8_t shift, block_shift, slot_bits, full;
    uint32_t id;
    uint32_t shared;
    uint32_t unused_;
};

/* Bytes of each record that are used; see farside_section_select(). */
struct farside_field {
    uint32_t start, length;
};

#define FARSIDE_SECTION_VERSION 2

#define FARSIDE_ID_SHIFT_ 56
#define FARSIDE_STATE_ 3u
#define FARSIDE_READY_ 2u
#define FARSIDE_DIRTY_ 4u
#define FARSIDE_PIN_ 64u
#define FARSIDE_MOST_PINS_ 512u
#define FARSIDE_HASH_ 0x9e3779b1u

/* What is asked of the library. */
#define FARSIDE_DO_FETCH_ 1
#define FARSIDE_DO_FLUSH_ 2
#define FARSIDE_DO_SOON_ 3
#define FARSIDE_DO_WANT_ 4
#define FARSIDE_DO_DONE_ 5

#ifdef __cplusplus
extern "C" {
#endif

extern int farside_section_open_(struct farside_section *section,
                                 const struct farside_section_options *how,
                                 int version) FARSIDE_WEAK;
extern int farside_section_close_(uint32_t id) FARSIDE_WEAK;
extern farside_ptr farside_section_alloc_(uint32_t id, size_t size, size_t align) FARSIDE_WEAK;
extern int farside_section_free_(farside_ptr pointer) FARSIDE_WEAK;
extern size_t farside_section_size_(farside_ptr pointer) FARSIDE_WEAK;
extern void *farside_section_miss_(farside_ptr pointer) FARSIDE_WEAK;
extern void *farside_section_here_(farside_ptr pointer) FARSIDE_WEAK;
extern void *farside_section_pin_(farside_ptr pointer) FARSIDE_WEAK;
extern void farside_section_do_(farside_ptr pointer, size_t size, int what) FARSIDE_WEAK;
extern void farside_section_want_(const farside_ptr *pointers, size_t count) FARSIDE_WEAK;
extern uint64_t farside_section_latency_(uint32_t id) FARSIDE_WEAK;
extern int farside_section_select_(uint32_t id, uint32_t record, const struct farside_field *fields,
                                   size_t count) FARSIDE_WEAK;

/* What plain memory looks like as a section: nothing is ever found there. */
static uint32_t farside_no_tags_[4] __attribute__((unused)) = {~0u, ~0u, ~0u, ~0u};
static uint16_t farside_no_states_[1] __attribute__((unused)) = {0};

FARSIDE_INLINE void farside_section_plain_(struct farside_section *section) {
    memset(section, 0, sizeof *section);
    section->tags = farside_no_tags_;
    section->states = farside_no_states_;
    /* Lookups have the processor load what may be there before they know that it is not. */
    section->data = (unsigned char *)farside_no_tags_;
    section->sets = section->ways = 1;
    section->shift = section->block_shift = 6;
    /* No pointer is behind it. */
    section->base = (farside_ptr)0xff << FARSIDE_ID_SHIFT_;
}

/*
 * int farside_section_open(section, how): an empty section. Without Farside, or if that fails, `section`
 * is plain memory.
 *
 * Returns 0, or -1, and sets errno, and Farside tells the user why, if
 *   EINVAL  there are no such lines or sets, not one of them fits into the capacity, or the section that it
 *           is to share memory with was closed,
 *   ENOMEM  the local limit leaves less than that,
 *   ENOSPC  there are 255 sections already.
 */
FARSIDE_INLINE int farside_section_open(struct farside_section *section,
                                        const struct farside_section_options *how) {
    farside_section_plain_(section);
    section->shared = how->shared != 0;
    if (!farside_section_open_) return 0;
    return farside_section_open_(section, how, FARSIDE_SECTION_VERSION);
}

/*
 * void farside_section_close(section): gives up the section and, unless it is plain memory, all that was
 * allocated in it. No thread uses it any more.
 */
FARSIDE_INLINE void farside_section_close(struct farside_section *section) {
    if (section->id) farside_section_close_(section->id);
    farside_section_plain_(section);
}

/* Whether the section is more than plain memory. */
FARSIDE_INLINE int farside_section_is_far(const struct farside_section *section) {
    return section->id != 0;
}

/*
 * farside_ptr farside_section_alloc(section, size, align): far memory, at a multiple of `align` bytes (0:
 * of 16), which is a power of two and at most 64 KiB. 0 if there is none. Its content is what was there
 * before.
 */
FARSIDE_INLINE farside_ptr farside_section_alloc(struct farside_section *section, size_t size,
                                                 size_t align) {
    void *plain;
    if (section->id) return farside_section_alloc_(section->id, size, align ? align : 16);
    if (align & (align - 1)) return 0;
    if (posix_memalign(&plain, align < 16 ? 16 : align, size ? size : 1)) return 0;
    return (farside_ptr)(uintptr_t)plain;
}

/* void farside_section_free(pointer): gives back what farside_section_alloc() returned; not 0 alone. */
FARSIDE_INLINE void farside_section_free(farside_ptr pointer) {
    if (pointer >> FARSIDE_ID_SHIFT_) {
        farside_section_free_(pointer);
    } else {
        free((void *)(uintptr_t)pointer);
    }
}

/*
 * size_t farside_section_size(pointer): bytes of the block that farside_section_alloc() returned, at least
 * those asked for; 0 if none starts there, or in plain memory, where it is not known.
 */
FARSIDE_INLINE size_t farside_section_size(farside_ptr pointer) {
    return pointer >> FARSIDE_ID_SHIFT_ ? farside_section_size_(pointer) : 0;
}

/* What is behind a lookup that finds nothing. */
FARSIDE_INLINE void *farside_missed_(farside_ptr pointer) {
    if (!(pointer >> FARSIDE_ID_SHIFT_)) return (void *)(uintptr_t)pointer;
    return farside_section_miss_(pointer);
}

FARSIDE_INLINE uint32_t farside_tag_(const struct farside_section *section, uint64_t slot) {
    return __atomic_load_n(&section->tags[slot], __ATOMIC_ACQUIRE);
}

/* The number of a line in the section; none of its lines if the pointer is another section's. */
FARSIDE_INLINE uint64_t farside_line_(const struct farside_section *section, farside_ptr pointer) {
    return (pointer - section->base) >> section->shift;
}

/* The first slot of a line's set, of `ways` slots. */
FARSIDE_INLINE uint64_t farside_set_(const struct farside_section *section, uint64_t line,
                                     uint32_t ways) {
    __extension__ typedef unsigned __int128 wide;
    if (__builtin_expect(section->magic == 0, 1)) return (line & (section->sets - 1)) * ways;
    return (uint64_t)((wide)(section->magic * (uint32_t)line) * section->sets >> 64) * ways;
}

/* The slot of a line that is here and known to be used, or -1. */
FARSIDE_INLINE int64_t farside_slot_direct_(const struct farside_section *section, uint64_t line) {
    const uint64_t slot = farside_set_(section, line, 1);
    return __builtin_expect(farside_tag_(section, slot) == line, 1) ? (int64_t)slot : -1;
}

/*
 * Which of some tags is that of a line, or any if none is. Four are looked at together, also beyond the
 * end of a set: there a line of this set can only be beside the structure. Which way it is cannot be
 * foreseen, so that looking at all is quicker than leaving early.
 */
FARSIDE_INLINE uint32_t farside_way_(const uint32_t *tags, uint32_t ways, uint32_t line) {
    typedef uint32_t four __attribute__((vector_size(16)));
    four wanted = {line, line, line, line}, at = {0, 1, 2, 3}, found = {0, 0, 0, 0}, some;
    const four step = {4, 4, 4, 4};
    uint32_t way;
    for (way = 0; way < ways; way += 4) {
        memcpy(&some, tags + way, sizeof some);
        found |= (four)(some == wanted) & at;
        at += step;
    }
    return found[0] | found[1] | found[2] | found[3];
}

FARSIDE_INLINE int64_t farside_slot_set_(const struct farside_section *section, uint64_t line) {
    const uint64_t first = farside_set_(section, line, section->ways);
    uint64_t slot;
    if (section->ways <= 2) {
        if (farside_tag_(section, first) == line) return (int64_t)first;
        slot = first + section->ways - 1;
        return farside_tag_(section, slot) == line ? (int64_t)slot : -1;
    }
    slot = first + farside_way_(section->tags + first, section->ways, (uint32_t)line);
    /* What was found may have changed meanwhile, and what was not is found to be another line. */
    return __builtin_expect(farside_tag_(section, slot) == line, 1) ? (int64_t)slot : -1;
}

FARSIDE_INLINE int64_t farside_slot_full_(const struct farside_section *section, uint64_t line) {
    const uint32_t hash = (uint32_t)line * FARSIDE_HASH_, wanted = hash << section->slot_bits;
    uint64_t place = (uint64_t)hash * section->place_count >> 32;
    for (;;) {
        const uint32_t entry = __atomic_load_n(&section->places[place], __ATOMIC_ACQUIRE);
        if (entry == 0xffffffffu) return -1;
        if (((entry ^ wanted) >> section->slot_bits) == 0) {
            const uint64_t slot = entry & ((1u << section->slot_bits) - 1);
            if (farside_tag_(section, slot) == line) return (int64_t)slot;
        }
        if (++place == section->place_count) place = 0;
    }
}

FARSIDE_INLINE int64_t farside_slot_(const struct farside_section *section, uint64_t line) {
    if (section->full) return farside_slot_full_(section, line);
    if (section->ways == 1) return farside_slot_direct_(section, line);
    return farside_slot_set_(section, line);
}

/* The address, in a slot, of what is pointed to. */
FARSIDE_INLINE void *farside_in_slot_(const struct farside_section *section, int64_t slot,
                                      farside_ptr pointer) {
    return section->data + ((uint64_t)slot << section->shift)
           + (pointer & (((uint64_t)1 << section->shift) - 1));
}

/*
 * void *farside_at(section, pointer): the address of what is pointed to, which is here then. The next
 * three are the same for sections that are known to be of one structure.
 */
FARSIDE_INLINE void *farside_at(const struct farside_section *section, farside_ptr pointer) {
    const int64_t slot = farside_slot_(section, farside_line_(section, pointer));
    if (__builtin_expect(slot < 0, 0)) return farside_missed_(pointer);
    return farside_in_slot_(section, slot, pointer);
}

FARSIDE_INLINE void *farside_at_direct(const struct farside_section *section, farside_ptr pointer) {
    const int64_t slot = farside_slot_direct_(section, farside_line_(section, pointer));
    if (__builtin_expect(slot < 0, 0)) return farside_missed_(pointer);
    return farside_in_slot_(section, slot, pointer);
}

FARSIDE_INLINE void *farside_at_set(const struct farside_section *section, farside_ptr pointer) {
    const int64_t slot = farside_slot_set_(section, farside_line_(section, pointer));
    if (__builtin_expect(slot < 0, 0)) return farside_missed_(pointer);
    return farside_in_slot_(section, slot, pointer);
}

FARSIDE_INLINE void *farside_at_full(const struct farside_section *section, farside_ptr pointer) {
    /* Plain memory has no places to look at. */
    const int64_t slot =
        section->full ? farside_slot_full_(section, farside_line_(section, pointer)) : -1;
    if (__builtin_expect(slot < 0, 0)) return farside_missed_(pointer);
    return farside_in_slot_(section, slot, pointer);
}

/* void farside_note_written(section, address, size): these bytes, of one line, will be written. */
FARSIDE_INLINE void farside_note_written(const struct farside_section *section, const void *address,
                                         size_t size) {
    const uint64_t place = (uint64_t)((const unsigned char *)address - section->data);
    const uint64_t slot = place >> section->shift;
    /* Plain memory needs nothing to be said. */
    if (slot >= section->slots) return;
    if (section->written) {
        const uint64_t mask = ((uint64_t)1 << section->shift) - 1;
        const uint64_t from = (place & mask) >> section->block_shift;
        const uint64_t last = (place & mask) + (size ? size : 1) - 1;
        const uint64_t to = (last > mask ? mask : last) >> section->block_shift;
        const uint64_t blocks = (~(uint64_t)0 >> (63 - (to - from))) << from;
        if ((__atomic_load_n(&section->written[slot], __ATOMIC_RELAXED) & blocks) != blocks) {
            __atomic_fetch_or(&section->written[slot], blocks, __ATOMIC_RELAXED);
        }
    }
    if (!(__atomic_load_n(&section->states[slot], __ATOMIC_RELAXED) & FARSIDE_DIRTY_)) {
        __atomic_fetch_or(&section->states[slot], (uint16_t)FARSIDE_DIRTY_, __ATOMIC_RELAXED);
    }
}

/*
 * void *farside_at_mut(section, pointer, size): as farside_at(), and `size` bytes there will be written;
 * they are all of one line.
 */
FARSIDE_INLINE void *farside_at_mut(const struct farside_section *section, farside_ptr pointer,
                                    size_t size) {
    void *address = farside_at(section, pointer);
    farside_note_written(section, address, size);
    return address;
}

/* How many bytes from a pointer on are of the same line. */
FARSIDE_INLINE size_t farside_rest_of_line(const struct farside_section *section, farside_ptr pointer) {
    const uint64_t line = (uint64_t)1 << section->shift;
    if (!(pointer >> FARSIDE_ID_SHIFT_)) return (size_t)-1 >> 1;
    return line - (pointer & (line - 1));
}

/* Whether `size` bytes lie across the end of a line. */
FARSIDE_INLINE int farside_is_split(const struct farside_section *section, farside_ptr pointer,
                                    size_t size) {
    return size > farside_rest_of_line(section, pointer);
}

/*
 * void *farside_pin_line(section, pointer): as farside_at(), and the line stays until
 * farside_unpin_line() was called for its address. A line can be pinned 512 times at once, and 64 lines
 * more than there is room for; beyond that the result is null, and errno is ENOMEM.
 */
FARSIDE_INLINE void *farside_pin_line(const struct farside_section *section, farside_ptr pointer) {
    const uint64_t line = farside_line_(section, pointer);
    const int64_t slot = farside_slot_(section, line);
    if (__builtin_expect(slot >= 0, 1)) {
        const uint16_t old =
            __atomic_fetch_add(&section->states[slot], (uint16_t)FARSIDE_PIN_, __ATOMIC_ACQ_REL);
        if (__builtin_expect((old & FARSIDE_STATE_) == FARSIDE_READY_
                                 && farside_tag_(section, (uint64_t)slot) == line
                                 && old < FARSIDE_MOST_PINS_ * FARSIDE_PIN_,
                             1)) {
            return farside_in_slot_(section, slot, pointer);
        }
        __atomic_fetch_sub(&section->states[slot], (uint16_t)FARSIDE_PIN_, __ATOMIC_RELEASE);
    }
    if (!(pointer >> FARSIDE_ID_SHIFT_)) return (void *)(uintptr_t)pointer;
    return farside_section_pin_(pointer);
}

/* The same, and `size` bytes there, all of one line, will be written. */
FARSIDE_INLINE void *farside_pin_line_mut(const struct farside_section *section, farside_ptr pointer,
                                          size_t size) {
    void *address = farside_pin_line(section, pointer);
    if (__builtin_expect(address != 0, 1)) farside_note_written(section, address, size);
    return address;
}

/* The slot that an address is in; of plain memory, no slot of the section. */
FARSIDE_INLINE uint64_t farside_slot_at_(const struct farside_section *section, const void *address) {
    return (uint64_t)((const unsigned char *)address - section->data) >> section->shift;
}

/*
 * void farside_unpin_line(section, address): ends one farside_pin_line() that returned an address in this
 * line.
 */
FARSIDE_INLINE void farside_unpin_line(const struct farside_section *section, const void *address) {
    const uint64_t slot = farside_slot_at_(section, address);
    if (slot < section->slots) {
        __atomic_fetch_sub(&section->states[slot], (uint16_t)FARSIDE_PIN_, __ATOMIC_RELEASE);
    }
}

/* The address of what will be copied, which is pinned if other threads use the section. */
FARSIDE_INLINE void *farside_borrow_(const struct farside_section *section, farside_ptr pointer) {
    void *address;
    if (!section->shared) return farside_at(section, pointer);
    address = farside_pin_line(section, pointer);
    /* More lines are pinned than there can be. */
    if (__builtin_expect(!address, 0)) abort();
    return address;
}

FARSIDE_INLINE void farside_return_(const struct farside_section *section, const void *address) {
    if (section->shared) farside_unpin_line(section, address);
}

/* void farside_read(section, into, pointer, size): copies what is pointed to. */
FARSIDE_INLINE void farside_read(const struct farside_section *section, void *into, farside_ptr pointer,
                                 size_t size) {
    unsigned char *to = (unsigned char *)into;
    while (size) {
        const size_t rest = farside_rest_of_line(section, pointer), some = size < rest ? size : rest;
        const void *address = farside_borrow_(section, pointer);
        memcpy(to, address, some);
        farside_return_(section, address);
        to += some, pointer += some, size -= some;
    }
}

/* void farside_write(section, pointer, from, size): copies to what is pointed to. */
FARSIDE_INLINE void farside_write(const struct farside_section *section, farside_ptr pointer,
                                  const void *from, size_t size) {
    const unsigned char *at = (const unsigned char *)from;
    while (size) {
        const size_t rest = farside_rest_of_line(section, pointer), some = size < rest ? size : rest;
        void *address = farside_borrow_(section, pointer);
        farside_note_written(section, address, some);
        memcpy(address, at, some);
        farside_return_(section, address);
        at += some, pointer += some, size -= some;
    }
}

/* void farside_fill(section, pointer, byte, size): as memset(). */
FARSIDE_INLINE void farside_fill(const struct farside_section *section, farside_ptr pointer, int byte,
                                 size_t size) {
    while (size) {
        const size_t rest = farside_rest_of_line(section, pointer), some = size < rest ? size : rest;
        void *address = farside_borrow_(section, pointer);
        farside_note_written(section, address, some);
        memset(address, byte, some);
        farside_return_(section, address);
        pointer += some, size -= some;
    }
}

/* farside_get(type, section, pointer): the value there. Never too slow: a value across lines is copied. */
#define farside_get(type, section, pointer)                                                        \
    __extension__({                                                                                \
        const struct farside_section *const farside_s_ = (section);                                \
        const farside_ptr farside_p_ = (pointer);                                                  \
        type farside_v_;                                                                           \
        if (__builtin_expect(farside_s_->shared                                                    \
                                 || farside_is_split(farside_s_, farside_p_, sizeof(type)), 0)) {  \
            farside_read(farside_s_, &farside_v_, farside_p_, sizeof(type));                       \
        } else {                                                                                   \
            memcpy(&farside_v_, farside_at(farside_s_, farside_p_), sizeof(type));                 \
        }                                                                                          \
        farside_v_;                                                                                \
    })

/* farside_set(type, section, pointer, value): stores a value there. */
#define farside_set(type, section, pointer, value)                                                 \
    do {                                                                                           \
        const struct farside_section *const farside_s_ = (section);                                \
        const farside_ptr farside_p_ = (pointer);                                                  \
        const type farside_v_ = (value);                                                           \
        if (__builtin_expect(farside_s_->shared                                                    \
                                 || farside_is_split(farside_s_, farside_p_, sizeof(type)), 0)) {  \
            farside_write(farside_s_, farside_p_, &farside_v_, sizeof(type));                      \
        } else {                                                                                   \
            memcpy(farside_at_mut(farside_s_, farside_p_, sizeof(type)), &farside_v_,              \
                   sizeof(type));                                                                  \
        }                                                                                          \
    } while (0)

/*
 * void farside_fetch(pointer, size): sends for the lines of a range that are not here, and waits for
 * nothing.
 */
FARSIDE_INLINE void farside_fetch(farside_ptr pointer, size_t size) {
    if (pointer >> FARSIDE_ID_SHIFT_) farside_section_do_(pointer, size, FARSIDE_DO_FETCH_);
}

/* The same for one line; if it is here that is only a lookup. */
FARSIDE_INLINE void farside_fetch_if_absent(const struct farside_section *section, farside_ptr pointer) {
    if (farside_slot_(section, farside_line_(section, pointer)) < 0) farside_fetch(pointer, 1);
}

/* void farside_wait(section, pointer): waits until what is pointed to is here. */
FARSIDE_INLINE void farside_wait(const struct farside_section *section, farside_ptr pointer) {
    (void)farside_at(section, pointer);
}

/*
 * void farside_flush(pointer, size): stores what was written of a range, which stays here. Lines that are
 * pinned are left out.
 */
FARSIDE_INLINE void farside_flush(farside_ptr pointer, size_t size) {
    if (pointer >> FARSIDE_ID_SHIFT_) farside_section_do_(pointer, size, FARSIDE_DO_FLUSH_);
}

/* void farside_evict_soon(pointer, size): as farside_flush(), and the lines leave before others. */
FARSIDE_INLINE void farside_evict_soon(farside_ptr pointer, size_t size) {
    if (pointer >> FARSIDE_ID_SHIFT_) farside_section_do_(pointer, size, FARSIDE_DO_SOON_);
}

/*
 * int farside_section_select(section, record, fields, count): from now on, of the records of so many bytes
 * that lie side by side from the start of each line, only these fields come with a line, and go. The
 * program uses no others until it selects again; with no fields, everything comes. A line is a multiple of
 * a record; fields are in order and do not overlap. No other thread uses the section meanwhile.
 *
 * Returns 0, or -1, and sets errno, if
 *   EINVAL  the fields make no sense,
 *   EBUSY   a line is pinned.
 */
FARSIDE_INLINE int farside_section_select(const struct farside_section *section, uint32_t record,
                                          const struct farside_field *fields, size_t count) {
    if (!section->id) return 0;
    return farside_section_select_(section->id, record, fields, count);
}

#ifdef __cplusplus
}
#endif

#endif
