// Radix sort of 32-bit numbers, 1,024 buckets a pass, from one array to the other and back.
// Usage: radix NUMBERS. Prints a checksum of the sorted numbers.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BITS = 10, BUCKETS = 1 << BITS };

static uint64_t state = 1;

static uint32_t next(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 34;
}

static void pass(uint32_t *to, const uint32_t *from, long n, int shift) {
    static long start[BUCKETS];
    memset(start, 0, sizeof start);
    for (long i = 0; i < n; i++) start[from[i] >> shift & (BUCKETS - 1)]++;
    long sum = 0;
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
        long size = start[bucket];
        start[bucket] = sum;
        sum += size;
    }
    for (long i = 0; i < n; i++) to[start[from[i] >> shift & (BUCKETS - 1)]++] = from[i];
}

int main(int count, char **arguments) {
    long n = count > 1 ? atol(arguments[1]) : 3000000;
    if (n < 2 || n > 1L << 30) {
        fprintf(stderr, "usage: radix NUMBERS, from 2 to 2^30\n");
        return 2;
    }
    uint32_t *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
    if (!a || !b) return 3;
    for (long i = 0; i < n; i++) a[i] = next();
    for (int shift = 0; shift < 3 * BITS; shift += BITS) {
        pass(b, a, n, shift);
        uint32_t *held = a;
        a = b;
        b = held;
    }
    uint64_t sum = 0;
    for (long i = 0; i < n; i++) {
        if (i > 0 && a[i - 1] > a[i]) {
            fprintf(stderr, "radix: not sorted\n");
            return 1;
        }
        sum = sum * 31 + a[i];
    }
    printf("checksum %llu\n", (unsigned long long)sum);
    return 0;
}
