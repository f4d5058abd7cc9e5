/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

size_t describe_space(char *text, size_t size, unsigned long end)
{
    size_t length = 0;
    char line[NAME_BYTES + 128];
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps)
        return 0;
    while (fgets(line, sizeof line, maps)) {
        size_t more = strlen(line);
        if (strtoul(line, NULL, 16) >= end || length + more > size)
            break;
        memcpy(text + length, line, more);
        length += more;
    }
    fclose(maps);
    return length;
}

bool changes_space(int64_t number)
{
    return number == SYS_mmap || number == SYS_munmap || number == SYS_mremap || number == SYS_brk;
}

size_t mapped_file(const uint64_t *arguments, char *name)
{
    char link[64];
    if (arguments[3] & MAP_ANONYMOUS)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", (int)arguments[4]);
    ssize_t length = readlink(link, name, NAME_BYTES);
    return length < 0 ? 0 : length;
}
