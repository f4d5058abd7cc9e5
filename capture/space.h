/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the program's address space consists of, and which system calls change that. */
#ifndef PAGETRACE_SPACE_H
#define PAGETRACE_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NAME_BYTES = 4096 }; /* of a file */

/* The lines of /proc/self/maps that are about addresses below `end`; the length, 0 on failure. */
size_t describe_space(char *text, size_t size, unsigned long end);

/* Whether a system call of this number may change mappings. */
bool changes_space(int64_t number);

/* The name of the file that an mmap with these arguments is of, without a zero at its end; the length.
 * There is room for NAME_BYTES. */
size_t mapped_file(const uint64_t *arguments, char *name);

#endif
