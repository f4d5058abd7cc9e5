// Iceberg cube by bottom-up computation, as data mining programs do it: all combinations of values that occur
// often enough, over all subsets of the dimensions.
// Usage: cube ROWS LEAST. Prints the number of combinations and a checksum of their sizes.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { DIMENSIONS = 8, VALUES = 50 };

struct row {
    uint32_t value[DIMENSIONS];
    uint32_t measure;
};

static struct row *rows;
static uint64_t state = 1, found, sizes;
static long least;

static uint32_t below(uint32_t end) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % end;
}

// Sorts row numbers by one dimension; `start` gets where each value begins.
static void part(uint32_t *to, const uint32_t *from, long count, int dimension, long *start) {
    long at[VALUES] = {0};
    for (long i = 0; i < count; i++) at[rows[from[i]].value[dimension]]++;
    long sum = 0;
    for (int value = 0; value < VALUES; value++) {
        start[value] = sum;
        sum += at[value];
        at[value] = start[value];
    }
    start[VALUES] = sum;
    for (long i = 0; i < count; i++) to[at[rows[from[i]].value[dimension]]++] = from[i];
}

// All combinations that hold for the rows `from` and fix further dimensions from `dimension` on.
static void expand(const uint32_t *from, long count, int dimension, uint32_t *room) {
    uint64_t sum = 0;
    for (long i = 0; i < count; i++) sum += rows[from[i]].measure;
    found++;
    sizes = sizes * 31 + sum + (uint64_t)count;
    for (; dimension < DIMENSIONS; dimension++) {
        long start[VALUES + 1];
        part(room, from, count, dimension, start);
        for (int value = 0; value < VALUES; value++) {
            long size = start[value + 1] - start[value];
            if (size >= least) expand(&room[start[value]], size, dimension + 1, room + count);
        }
    }
}

int main(int count, char **arguments) {
    long n = count > 1 ? atol(arguments[1]) : 300000;
    least = count > 2 ? atol(arguments[2]) : n / 150;
    if (n < 100 || n > 1L << 28 || least < 1) {
        fprintf(stderr, "usage: cube ROWS LEAST, from 100 to 2^28 rows\n");
        return 2;
    }
    rows = malloc(n * sizeof *rows);
    uint32_t *all = malloc(n * sizeof *all), *room = malloc(n * (DIMENSIONS + 1) * sizeof *room);
    if (!rows || !all || !room) return 3;
    uint64_t total = 0;
    for (long i = 0; i < n; i++) {
        all[i] = i;
        for (int d = 0; d < DIMENSIONS; d++) {
            // Low values are frequent, as in real data.
            uint32_t a = below(VALUES), b = below(VALUES);
            rows[i].value[d] = a * b / VALUES;
        }
        rows[i].measure = below(1000);
        total += rows[i].value[0] == 0;
    }
    expand(all, n, 0, room);
    // The first dimension's most frequent value must have been found.
    if (total < (uint64_t)least || found < 2) {
        fprintf(stderr, "cube: nothing found\n");
        return 1;
    }
    printf("found %llu checksum %llu\n", (unsigned long long)found, (unsigned long long)sizes);
    return 0;
}
