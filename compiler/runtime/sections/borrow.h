/* Local memory that the C library is lent in place of what is in sections. */
#ifndef FARSIDE_RUNTIME_SECTIONS_BORROW_H
#define FARSIDE_RUNTIME_SECTIONS_BORROW_H

#include "plain.h"

#include <stdlib.h>
#include <unistd.h>

/* What is lent where no byte is used. */
static char farside_rt_nothing[1];

/* No section is longer. */
#define MOST_LENT_ ((size_t)1 << 48)

/* The function cannot be told so, and there is no way to go on. */
static void no_memory(void) {
    static const char why[] = "farside: no memory to copy what a function of the C library uses of a section: name less "
                              "in the section file, or give the section longer lines\n";
    if (write(2, why, sizeof why - 1) < 0) abort();
    abort();
}

/* A copy of `size` bytes, with room for one more. */
static void *copy_of(const struct farside_section *section, uint64_t pointer, size_t size) {
    char *copy = size < MOST_LENT_ ? malloc(size + 1) : 0;
    if (!copy) no_memory();
    farside_read(section, copy, pointer, size);
    copy[size] = 0;
    return copy;
}

CALL void *farside_rt_borrow(const struct farside_section *section, void *pointer, size_t size) {
    void *line;
    if (!(number(pointer) >> FARSIDE_ID_SHIFT_)) return pointer;
    if (!size) return farside_rt_nothing;
    PROFILE_RANGE(pointer, size, 0);
    if (!farside_is_split(section, number(pointer), size)) {
        line = farside_pin_line(section, number(pointer));
        if (line) return line;
    }
    return copy_of(section, number(pointer), size);
}

CALL void *farside_rt_borrow_copy(const struct farside_section *section, void *pointer, size_t size) {
    if (!(number(pointer) >> FARSIDE_ID_SHIFT_)) return pointer;
    if (!size) return farside_rt_nothing;
    PROFILE_RANGE(pointer, size, 0);
    return copy_of(section, number(pointer), size);
}

/* The length of a text of which `most` bytes are here, or `most`. */
static size_t length_in(const char *text, size_t most) {
    const char *end = (const char *)memchr(text, 0, most);
    return end ? (size_t)(end - text) : most;
}

/* The length of a text in a section, or `most`. */
static size_t text_length(const struct farside_section *section, uint64_t pointer, size_t most) {
    size_t length = 0;
    while (length < most) {
        const size_t rest = farside_rest_of_line(section, pointer + length);
        const size_t part = rest < most - length ? rest : most - length;
        const char *line = (const char *)farside_borrow_(section, pointer + length);
        const size_t found = length_in(line, part);
        farside_return_(section, line);
        length += found;
        if (found < part) break;
    }
    return length;
}

CALL void *farside_rt_borrow_text(const struct farside_section *section, void *pointer, size_t most) {
    const uint64_t from = number(pointer);
    size_t rest, length;
    char *line;
    if (!(from >> FARSIDE_ID_SHIFT_)) return pointer;
    if (!most) return farside_rt_nothing;
    PROFILE_RANGE(pointer, 1, 0);
    rest = farside_rest_of_line(section, from);
    line = (char *)farside_pin_line(section, from);
    if (line) {
        length = length_in(line, rest < most ? rest : most);
        /* All of it is in the line. */
        if (length < rest || length == most) return line;
        farside_unpin_line(section, line);
    }
    return copy_of(section, from, text_length(section, from, most));
}

/* Whether what was lent is the line itself. */
static int is_line(const struct farside_section *section, const void *here) {
    return (uint64_t)((const unsigned char *)here - section->data) >> section->shift < section->slots;
}

CALL void farside_rt_give_back(const struct farside_section *section, const void *pointer, void *here) {
    if (here == pointer || here == farside_rt_nothing) return;
    if (is_line(section, here))
        farside_unpin_line(section, here);
    else
        free(here);
}

CALL void farside_rt_give_back_written(const struct farside_section *section, void *pointer, void *here,
                                       size_t size) {
    if (here == pointer || here == farside_rt_nothing) return;
    PROFILE_RANGE(pointer, size, 1);
    if (is_line(section, here))
        farside_note_written(section, here, size);
    else
        farside_write(section, number(pointer), here, size);
    farside_rt_give_back(section, pointer, here);
}

#endif
