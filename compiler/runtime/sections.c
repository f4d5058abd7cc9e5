/*
 * What compiled programs do with sections, on top of farside/section.h. It is linked into them as bitcode, so that
 * lookups are inlined.
 *
 * Every pointer that comes here may also be plain: a section that could not be opened is plain memory, allocations fall
 * back to it, and code is shared by remote and by plain pointers. A plain pointer is never found in a section.
 */
#include "profile/hooks.h"

#include <farside/section.h>

#define PART __attribute__((always_inline, nothrow, visibility("hidden")))
#define SLOW __attribute__((noinline, cold, nothrow, visibility("hidden")))
#define CALL __attribute__((noinline, nothrow, visibility("hidden")))

/* What a section is before it is opened. */
const struct farside_section farside_rt_plain = {
    farside_no_tags_, farside_no_states_, 0, 0, 0, (farside_ptr)0xff << FARSIDE_ID_SHIFT_, 0, 1, 1, 0, 0, 6, 6, 0, 0, 0, 0, 0,
};

/* The base of one that stays plain: no pointer is behind it, either. */
#define SETTLED_ ((farside_ptr)0xfe << FARSIDE_ID_SHIFT_)

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

/* A function that can run where its data is, and what the runtime keeps of it. */
struct farside_rt_offload {
    const void *code;
    uint64_t code_size;
    const char *name;
    /* Those that it reads, and null for those that it does not. */
    const struct farside_section *const *sections;
    uint32_t section_count, entry;
    uint64_t input, output;
    uint64_t handle;
};

extern uint64_t farside_offload_(struct farside_rt_offload *what, void *input, void *output) __attribute__((weak));
extern void farside_offload_ran_here_(struct farside_rt_offload *what, uint64_t began) __attribute__((weak));

/*
 * Runs a function where its data is; 0 if it did, and `output` is what it left. Else it is to be run here, and
 * farside_rt_ran_here() called with what this returned. `together`: its results may lie where it reads.
 */
CALL uint64_t farside_rt_offload(struct farside_rt_offload *what, void *input, void *output, uint32_t together) {
    uint32_t i;
    if (!farside_offload_ || together) return 1;
    for (i = 0; i < what->section_count; ++i)
        if (what->sections[i] && !what->sections[i]->id) return 1;
    return farside_offload_(what, input, output);
}

/* Puts results where they belong: of `size` bytes those that are marked. */
CALL void farside_rt_unpack(unsigned char *to, const unsigned char *from, const unsigned char *marks, uint64_t size) {
    uint64_t i;
    for (i = 0; i < size; ++i)
        if (marks[i]) to[i] = from[i];
}

CALL void farside_rt_ran_here(struct farside_rt_offload *what, uint64_t began) {
    if (began > 1 && farside_offload_ran_here_) farside_offload_ran_here_(what, began);
}

static void *number_at(uint64_t pointer) { return (void *)(uintptr_t)pointer; }
static uint64_t number(const void *pointer) { return (uint64_t)(uintptr_t)pointer; }

#define MOST_ALIGN_ ((size_t)64 << 10)

/*
 * A block at a multiple of `align`, a power of two. One that is longer than a line begins with one, so that its elements,
 * if their size is a power of two, do not lie across two.
 */
static farside_ptr allocate(struct farside_section *section, size_t size, size_t align) {
    const size_t line = (size_t)1 << section->shift;
    if (size > line && align < line) align = line < MOST_ALIGN_ ? line : MOST_ALIGN_;
    return farside_section_alloc(section, size ? size : 1, align < 16 ? 16 : align);
}

/* Allocations. Where the section has no room, the program's memory does. */
CALL void *farside_rt_malloc(struct farside_section *section, size_t size) {
    farside_ptr block = section->id ? allocate(section, size, 0) : 0;
    return block ? number_at(block) : malloc(size);
}

/* The same for what knows itself what to do where there is no room: null. */
CALL void *farside_rt_try_malloc(struct farside_section *section, size_t size) {
    return section->id ? number_at(allocate(section, size, 0)) : 0;
}

/* And at a multiple of `align`: null also where that is no power of two, or too large. */
CALL void *farside_rt_try_aligned(struct farside_section *section, size_t size, size_t align) {
    if (!section->id || !align || (align & (align - 1)) || align > MOST_ALIGN_) return 0;
    return number_at(allocate(section, size, align));
}

CALL void *farside_rt_calloc(struct farside_section *section, size_t count, size_t each) {
    size_t size;
    farside_ptr block;
    if (!section->id || __builtin_mul_overflow(count, each, &size)) return calloc(count, each);
    block = allocate(section, size, 0);
    if (!block) return calloc(count, each);
    PROFILE_RANGE(block, size, 1);
    farside_fill(section, block, 0, size);
    return number_at(block);
}

/* Frees what is remote. What is left to the program's own free() comes back: all else, or nothing. */
CALL void *farside_rt_release(void *pointer) {
    if (!(number(pointer) >> FARSIDE_ID_SHIFT_)) return pointer;
    farside_section_free(number(pointer));
    return 0;
}

CALL void *farside_rt_realloc(struct farside_section *section, void *pointer, size_t size) {
    farside_ptr block;
    size_t had;
    if (!pointer) return farside_rt_malloc(section, size);
    if (!(number(pointer) >> FARSIDE_ID_SHIFT_)) return realloc(pointer, size);
    had = farside_section_size(number(pointer));
    if (size <= had && size > had / 2) return pointer;
    block = allocate(section, size, 0);
    if (!block) return size <= had ? pointer : 0;
    {
        unsigned char some[1024];
        size_t at, all = size < had ? size : had;
        PROFILE_RANGE(pointer, all, 0);
        PROFILE_RANGE(block, all, 1);
        for (at = 0; at < all; at += sizeof some) {
            const size_t part = all - at < sizeof some ? all - at : sizeof some;
            farside_read(section, some, number(pointer) + at, part);
            farside_write(section, block + at, some, part);
        }
    }
    farside_section_free(number(pointer));
    return number_at(block);
}

SLOW void farside_rt_read_parts(const struct farside_section *section, const void *pointer, size_t size, void *into) {
    PROFILE_RANGE(pointer, size, 0);
    farside_read(section, into, number(pointer), size);
}

SLOW void farside_rt_write_parts(const struct farside_section *section, void *pointer, size_t size, const void *from) {
    PROFILE_RANGE(pointer, size, 1);
    farside_write(section, number(pointer), from, size);
}

/*
 * How lately something was missing, in the part of a section that nobody else uses: set by what was, and halved each time
 * that a loop asks. It does change, unlike the rest.
 */
static volatile uint32_t *missing(const struct farside_section *section) {
    return (volatile uint32_t *)&section->unused_;
}

/* Loops are told so for ten times more. */
#define MISSED_ 1024u

PART uint32_t farside_rt_misses(const struct farside_section *section) {
    volatile uint32_t *place = missing(section);
    const uint32_t lately = *place;
    if (lately) *place = lately / 2;
    return lately != 0;
}

static void *missed(const struct farside_section *section, const void *pointer) {
    if (number(pointer) >> FARSIDE_ID_SHIFT_) *missing(section) = MISSED_;
    return farside_missed_(number(pointer));
}

SLOW void *farside_rt_miss(const struct farside_section *section, const void *pointer) {
    return missed(section, pointer);
}

SLOW void *farside_rt_miss_mut(const struct farside_section *section, const void *pointer, size_t size) {
    void *address = missed(section, pointer);
    farside_note_written(section, address, size);
    return address;
}

#define AT(structure, there)                                                                                           \
    PART void *at_##structure(const struct farside_section *section, const void *pointer) {                            \
        const uint64_t line = farside_line_(section, number(pointer));                                                 \
        const int64_t slot = (there) ? farside_slot_##structure##_(section, line) : -1;                                \
        if (__builtin_expect(slot < 0, 0)) return farside_rt_miss(section, pointer);                                   \
        return farside_in_slot_(section, slot, number(pointer));                                                       \
    }

AT(set, 1)
/* Plain memory has no places to look at. */
AT(full, section->full)

/*
 * The address of `size` bytes for the operation that comes next: in their line, or in `copy`, where they are copied to
 * if they lie across the end of a line or if other threads use the section. `whole`: they never lie so.
 */
#define READ(structure)                                                                                                \
    PART const void *farside_rt_read_##structure(const struct farside_section *section, const void *pointer,           \
                                                 size_t size, int whole, void *copy) {                                 \
        if (__builtin_expect(section->shared || (!whole && farside_is_split(section, number(pointer), size)), 0)) {    \
            farside_rt_read_parts(section, pointer, size, copy);                                                       \
            return copy;                                                                                               \
        }                                                                                                              \
        PROFILE_LOOKUP(pointer, size, 0, section->shift);                                                              \
        return at_##structure(section, pointer);                                                                       \
    }

/* The same for bytes that will be written; when they are, comes farside_rt_written() with what this returned. */
#define WRITE(structure)                                                                                               \
    PART void *farside_rt_write_##structure(const struct farside_section *section, void *pointer, size_t size,         \
                                            int whole, void *copy) {                                                   \
        void *address;                                                                                                 \
        if (__builtin_expect(section->shared || (!whole && farside_is_split(section, number(pointer), size)), 0))      \
            return copy;                                                                                               \
        PROFILE_LOOKUP(pointer, size, 1, section->shift);                                                              \
        address = at_##structure(section, pointer);                                                                    \
        farside_note_written(section, address, size);                                                                  \
        return address;                                                                                                \
    }

READ(set)
READ(full)
WRITE(set)
WRITE(full)

/* The same where it is seldom done, so that it is to make the program no longer. */
CALL const void *farside_rt_read_apart(const struct farside_section *section, const void *pointer, size_t size,
                                       int whole, void *copy) {
    if (section->full) return farside_rt_read_full(section, pointer, size, whole, copy);
    return farside_rt_read_set(section, pointer, size, whole, copy);
}

CALL void *farside_rt_write_apart(const struct farside_section *section, void *pointer, size_t size, int whole,
                                  void *copy) {
    if (section->full) return farside_rt_write_full(section, pointer, size, whole, copy);
    return farside_rt_write_set(section, pointer, size, whole, copy);
}

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
    const uint64_t slot = set * ways;
    if (__builtin_expect(section->tags[slot] == line, 1)) return (int64_t)slot;
    if (ways == 2 && section->tags[slot + 1] == line) return (int64_t)slot + 1;
    return -1;
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
                                       int whole, void *copy, uint32_t shift, uint32_t ways, int exact) {
    int64_t slot;
    if (__builtin_expect(section->shared || (!whole && is_split_known(number(pointer), size, shift)), 0)) {
        farside_rt_read_parts(section, pointer, size, copy);
        return copy;
    }
    PROFILE_LOOKUP(pointer, size, 0, shift);
    slot = slot_known(section, number(pointer), shift, ways, exact);
    if (__builtin_expect(slot < 0, 0)) return farside_rt_miss(section, pointer);
    return in_slot_known(section, slot, number(pointer), shift);
}

PART void *farside_rt_write_known(const struct farside_section *section, void *pointer, size_t size, int whole,
                                  void *copy, uint32_t shift, uint32_t ways, int exact, int blocks) {
    int64_t slot;
    void *address;
    if (__builtin_expect(section->shared || (!whole && is_split_known(number(pointer), size, shift)), 0)) return copy;
    PROFILE_LOOKUP(pointer, size, 1, shift);
    slot = slot_known(section, number(pointer), shift, ways, exact);
    if (__builtin_expect(slot < 0, 0)) return farside_rt_miss_mut(section, pointer, size);
    address = in_slot_known(section, slot, number(pointer), shift);
    mark_known(section, slot, address, size, blocks);
    return address;
}

/* What lookups consist of, one by one. */
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

/* Sends for the line of a pointer. That it is followed is only likely: it may be null, freed, or what memory held before. */
SLOW void farside_rt_send_for(const struct farside_section *section, const void *pointer) {
    if (number(pointer) >> FARSIDE_ID_SHIFT_ != section->id || !section->id) return;
    *missing(section) = MISSED_;
    farside_section_do_(number(pointer), 1, FARSIDE_DO_WANT_);
}

PART void farside_rt_want_known(const struct farside_section *section, const void *pointer, uint32_t shift,
                                uint32_t ways, int exact) {
    if (slot_known(section, number(pointer), shift, ways, exact) < 0) farside_rt_send_for(section, pointer);
}

#define WANT(structure)                                                                                                \
    PART void farside_rt_want_##structure(const struct farside_section *section, const void *pointer) {                \
        if (section->id && farside_slot_(section, farside_line_(section, number(pointer))) < 0)                        \
            farside_rt_send_for(section, pointer);                                                                     \
    }

WANT(set)
WANT(full)

/*
 * Sends for what the pointer leads to that is at `at`, if it is here, and something was missing lately. It may be anything: the
 * program has not looked at it yet.
 */
PART void farside_rt_follow_known(const struct farside_section *section, const void *at, uint32_t shift, uint32_t ways,
                                  int exact) {
    const void *next;
    int64_t slot;
    if (__builtin_expect(!farside_rt_misses(section), 1) || section->shared) return;
    slot = slot_known(section, number(at), shift, ways, exact);
    if (slot < 0 || is_split_known(number(at), sizeof next, shift)) return;
    memcpy(&next, in_slot_known(section, slot, number(at), shift), sizeof next);
    farside_rt_want_known(section, next, shift, ways, exact);
}

#define FOLLOW(structure)                                                                                              \
    PART void farside_rt_follow_##structure(const struct farside_section *section, const void *at) {                   \
        const void *next;                                                                                              \
        int64_t slot;                                                                                                  \
        if (!section->id || section->shared || !farside_rt_misses(section)) return;                                    \
        slot = farside_slot_(section, farside_line_(section, number(at)));                                             \
        if (slot < 0 || farside_is_split(section, number(at), sizeof next)) return;                                    \
        memcpy(&next, farside_in_slot_(section, slot, number(at)), sizeof next);                                       \
        farside_rt_want_##structure(section, next);                                                                    \
    }

FOLLOW(set)
FOLLOW(full)

/*
 * The address of bytes if they are here, in one line that nobody else uses; else null. `written`: they will be, and it is
 * taken note of.
 */
PART void *farside_rt_here_known(const struct farside_section *section, void *pointer, size_t size, int written,
                                 uint32_t shift, uint32_t ways, int exact, int blocks) {
    const int64_t slot = slot_known(section, number(pointer), shift, ways, exact);
    void *address;
    if (__builtin_expect(slot < 0, 0)) return number(pointer) >> FARSIDE_ID_SHIFT_ ? 0 : pointer;
    if (__builtin_expect(section->shared || is_split_known(number(pointer), size, shift), 0)) return 0;
    PROFILE_LOOKUP(pointer, size, written, shift);
    address = in_slot_known(section, slot, number(pointer), shift);
    if (written) mark_known(section, slot, address, size, blocks);
    return address;
}

#define HERE(structure)                                                                                                \
    PART void *farside_rt_here_##structure(const struct farside_section *section, void *pointer, size_t size,          \
                                           int written) {                                                              \
        int64_t slot;                                                                                                  \
        void *address;                                                                                                 \
        if (!(number(pointer) >> FARSIDE_ID_SHIFT_)) return pointer;                                                   \
        if (section->shared || farside_is_split(section, number(pointer), size)) return 0;                             \
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

/*
 * How many turns of a loop a line lasts, of which each uses `size` bytes, and which is `stride` bytes on with each; 0 if
 * already the first ones lie across its end.
 */
CALL uint64_t farside_rt_turns(const struct farside_section *section, const void *pointer, size_t size,
                               int64_t stride) {
    const uint64_t line = (uint64_t)1 << section->shift, at = number(pointer) & (line - 1);
    if (!(number(pointer) >> FARSIDE_ID_SHIFT_) || (stride == 0 && at + size <= line)) return ~(uint64_t)0 >> 1;
    if (at + size > line) return 0;
    if (stride > 0) return (line - size - at) / (uint64_t)stride + 1;
    return at / (0 - (uint64_t)stride) + 1;
}

/*
 * Keeps the line of the first turn, for so many turns, which are no more than it lasts; null if it cannot be kept. The
 * result is the address of what the first turn uses.
 */
CALL void *farside_rt_hold(const struct farside_section *section, void *pointer, size_t size, int64_t stride,
                           uint64_t turns, int written) {
    unsigned char *address;
    if (!turns) return 0;
    if (!(number(pointer) >> FARSIDE_ID_SHIFT_)) return pointer;
    PROFILE_HELD(pointer, size, stride, turns, written, section->shift);
    address = (unsigned char *)farside_pin(section, number(pointer));
    if (address && written) {
        const int64_t way = stride * (int64_t)(turns - 1);
        farside_note_written(section, way < 0 ? address + way : address, size + (uint64_t)(way < 0 ? -way : way));
    }
    return address;
}

CALL void farside_rt_let_go(const struct farside_section *section, const void *address) {
    if (address) farside_unpin(section, address);
}

/*
 * A loop has gone on from `pointer` by `turns` turns, of `all` that it makes. The line that it has left is one that others
 * take the place of first, if all of them are more than the section has room for: else it is still here when it is used again.
 */
CALL void farside_rt_done(const struct farside_section *section, const void *pointer, int64_t stride, uint64_t turns,
                          uint64_t all) {
    const uint64_t at = number(pointer), next = at + (uint64_t)stride * turns, line = (uint64_t)1 << section->shift;
    const uint64_t lines = all / (line / (uint64_t)(stride < 0 ? -stride : stride));
    if (at >> FARSIDE_ID_SHIFT_ && (at ^ next) & ~(line - 1) &&
        lines > (uint64_t)section->sets * section->ways)
        farside_section_do_(at, 1, FARSIDE_DO_DONE_);
}

/*
 * Sends for what a loop comes to: it is at `pointer`, and has `turns` turns to go. At its start so many lines are sent
 * for, and then one with each that it comes to. It may go on in a line where it was before.
 */
CALL void farside_rt_ahead(const struct farside_section *section, const void *pointer, size_t size, int64_t stride,
                           uint64_t turns, uint64_t lines, int start) {
    const uint64_t line = (uint64_t)1 << section->shift, mask = ~(line - 1), first = number(pointer);
    uint64_t last, from, to;
    if (!(first >> FARSIDE_ID_SHIFT_) || !turns) return;
    if (!start && !(((first - (uint64_t)stride) ^ first) & mask)) return;
    last = first + (uint64_t)stride * (turns - 1);
    if (stride > 0) {
        last += size - 1;
        from = start ? (first & mask) + line : (first & mask) + lines * line;
        to = (first & mask) + lines * line;
        if (to > (last & mask)) to = last & mask;
    } else {
        to = start ? (first & mask) - line : (first & mask) - lines * line;
        from = (first & mask) - lines * line;
        if (from < (last & mask) || from > first) from = last & mask;
    }
    if (from > to || from >> FARSIDE_ID_SHIFT_ != first >> FARSIDE_ID_SHIFT_) return;
    /* To ask takes as long as many turns. What is here needs not be sent for. */
    for (; from <= to; from += line)
        if (farside_slot_(section, farside_line_(section, from)) < 0) {
            farside_fetch(from, to - from + line);
            return;
        }
}
