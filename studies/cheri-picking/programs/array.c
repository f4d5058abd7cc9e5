// Streams through an array, twice.
// Usage: array MEBIBYTES. Prints a checksum.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    long n = (count > 1 ? atol(arguments[1]) : 64) << 17;
    if (n < 1 || n > 1L << 30) {
        fprintf(stderr, "usage: array MEBIBYTES, from 1 to 8192\n");
        return 2;
    }
    uint64_t *numbers = malloc(n * sizeof *numbers), sum = 0;
    if (!numbers) return 3;
    for (long i = 0; i < n; i++) numbers[i] = i * 7919;
    for (int pass = 0; pass < 2; pass++)
        for (long i = 0; i < n; i++) sum = sum * 31 + numbers[i];
    printf("checksum %llu\n", (unsigned long long)sum);
    return 0;
}
