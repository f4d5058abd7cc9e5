/* Memory in sections. */
#ifndef FARSIDE_RUNTIME_SECTIONS_ALLOCATION_H
#define FARSIDE_RUNTIME_SECTIONS_ALLOCATION_H

#include "plain.h"

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

/* The same at a multiple of `at`, a power of two, for fields of its records to be selected. */
CALL void *farside_rt_malloc_at(struct farside_section *section, size_t size, size_t at) {
    farside_ptr block = section->id ? allocate(section, size, at) : 0;
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

CALL void *farside_rt_calloc_at(struct farside_section *section, size_t count, size_t each, size_t at) {
    size_t size;
    farside_ptr block;
    if (!section->id || __builtin_mul_overflow(count, each, &size)) return calloc(count, each);
    block = allocate(section, size, at);
    if (!block) return calloc(count, each);
    PROFILE_RANGE(block, size, 1);
    farside_fill(section, block, 0, size);
    return number_at(block);
}

CALL void *farside_rt_calloc(struct farside_section *section, size_t count, size_t each) {
    return farside_rt_calloc_at(section, count, each, 0);
}

/* Frees what is remote. What is left to the program's own free() comes back: all else, or nothing. */
CALL void *farside_rt_release(void *pointer) {
    if (!(number(pointer) >> FARSIDE_ID_SHIFT_)) return pointer;
    farside_section_free(number(pointer));
    return 0;
}

CALL void *farside_rt_realloc_at(struct farside_section *section, void *pointer, size_t size, size_t at) {
    farside_ptr block;
    size_t had;
    if (!pointer) return farside_rt_malloc_at(section, size, at);
    if (!(number(pointer) >> FARSIDE_ID_SHIFT_)) return realloc(pointer, size);
    had = farside_section_size(number(pointer));
    if (size <= had && size > had / 2) return pointer;
    block = allocate(section, size, at);
    if (!block) return size <= had ? pointer : 0;
    {
        unsigned char some[1024];
        size_t done, all = size < had ? size : had;
        PROFILE_RANGE(pointer, all, 0);
        PROFILE_RANGE(block, all, 1);
        for (done = 0; done < all; done += sizeof some) {
            const size_t part = all - done < sizeof some ? all - done : sizeof some;
            farside_read(section, some, number(pointer) + done, part);
            farside_write(section, block + done, some, part);
        }
    }
    farside_section_free(number(pointer));
    return number_at(block);
}

CALL void *farside_rt_realloc(struct farside_section *section, void *pointer, size_t size) {
    return farside_rt_realloc_at(section, pointer, size, 0);
}

#endif
