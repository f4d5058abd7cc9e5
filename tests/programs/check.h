/* What the test programs share: a check that names its line, and the question where memory lies. */
#ifndef CHECK_H
#define CHECK_H
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition)                                                                      \
    do {                                                                                      \
        if (!(condition)) {                                                                   \
            printf("%s:%d: failed: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno);  \
            fflush(stdout);                                                                   \
            _exit(1);                                                                         \
        }                                                                                     \
    } while (0)

/* Holds in a run on far memory if the pointer is far, and in every other run. */
static inline bool far_if_any(const void *pointer)
{
    bool (*is_far)(const void *) = (bool (*)(const void *))dlsym(RTLD_DEFAULT, "farside_is_far");
    return !is_far || !getenv("FARSIDE_CONTROL") || is_far(pointer);
}

/* Holds if the pointer is not far. */
static inline bool not_far(const void *pointer)
{
    bool (*is_far)(const void *) = (bool (*)(const void *))dlsym(RTLD_DEFAULT, "farside_is_far");
    return !is_far || !is_far(pointer);
}

static inline bool all_bytes(const void *pointer, int value, size_t n)
{
    const unsigned char *byte = pointer;
    for (size_t i = 0; i < n; i++)
        if (byte[i] != (unsigned char)value)
            return false;
    return true;
}
#endif
