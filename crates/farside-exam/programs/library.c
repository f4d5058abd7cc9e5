/*
 * A program whose faults are all in a library: `library MEGABYTES`. With LIBRARY defined this is the library, which is
 * built without debugging information.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { OBJECT = 8192 };

uint64_t weigh(const unsigned char *object, size_t size);

#ifdef LIBRARY

/* One page of an object by one instruction, the next one by another. */
uint64_t weigh(const unsigned char *object, size_t size) {
    uint64_t sum = 0;
    for (size_t i = 0; i < size / 2; i += 64) sum = sum * 3 + object[i];
    for (size_t i = size / 2; i < size; i += 64) sum = sum * 5 + object[i];
    return sum;
}

#else

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    size_t count = (strtoul(argv[1], 0, 10) << 20) / OBJECT;
    void *memory;
    if (posix_memalign(&memory, 4096, count * OBJECT)) return 3;
    unsigned char *objects = memory;
    for (size_t i = 0; i < count * OBJECT; i++) objects[i] = i * i >> 7;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < 8 * count; i++) {
        uint64_t at = i * 0x9E3779B97F4A7C15u % count;
        sum += weigh(&objects[at * OBJECT], OBJECT); /* SITE weighs */
    }
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}

#endif
