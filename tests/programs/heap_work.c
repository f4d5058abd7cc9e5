/* One thread's work on a heap of known blocks: a radix sort, a hash table, a matrix.
 *
 * Every block is a whole number of pages and begins at a page, and is told on stdout, so that accesses
 * can be told by block and page wherever the allocator puts them. All of it depends on nothing
 * else. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAGE = 4096, KEYS = 1 << 20, SLOTS = 1 << 20, SIDE = 640, LOOKUPS = 120000 };

struct slot {
    uint64_t key, value;
};

static void *block(size_t bytes)
{
    bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    void *at = aligned_alloc(PAGE, bytes);
    if (!at)
        exit(1);
    printf("block %lu %lu\n", (unsigned long)at / PAGE, (unsigned long)bytes / PAGE);
    return at;
}

static uint64_t next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static uint64_t sort(uint64_t *from, uint64_t *to, uint64_t *seed)
{
    for (size_t i = 0; i < KEYS; i++)
        from[i] = next(seed) | 1;
    for (int shift = 0; shift < 24; shift += 8) {
        size_t places[257] = {0};
        for (size_t i = 0; i < KEYS; i++)
            places[(from[i] >> shift & 255) + 1]++;
        for (int i = 0; i < 256; i++)
            places[i + 1] += places[i];
        for (size_t i = 0; i < KEYS; i++)
            to[places[from[i] >> shift & 255]++] = from[i];
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    return from[KEYS / 2];
}

/* Few slots are looked up often: the place is a product of random shares. */
static uint64_t look_up(struct slot *table, uint64_t *seed)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < SLOTS; i++)
        table[i] = (struct slot){i * 0x9e3779b97f4a7c15 | 1, i + 1};
    for (int i = 0; i < LOOKUPS; i++) {
        uint64_t a = next(seed) >> 44, b = next(seed) >> 44, c = next(seed) >> 44;
        struct slot *slot = &table[(a * b >> 20) * c >> 20];
        sum += slot->value;
        if (i % 4 == 0)
            slot->value++;
    }
    return sum;
}

/* Products of rows with columns, which lie a row apart. */
static double multiply(double *matrix, double *column)
{
    for (size_t i = 0; i < SIDE * SIDE; i++)
        matrix[i] = 1 + (double)(i % 7);
    for (size_t j = 0; j < SIDE; j += 16) {
        double sum = 1;
        for (size_t i = 0; i < SIDE; i++)
            sum += matrix[i * SIDE + j] * matrix[j * SIDE + i];
        column[j] = sum;
    }
    return column[SIDE / 2];
}

int main(void)
{
    uint64_t seed = 88172645463325252;
    uint64_t *keys = block(KEYS * sizeof *keys), *sorted = block(KEYS * sizeof *sorted);
    struct slot *table = block(SLOTS * sizeof *table);
    double *matrix = block(SIDE * SIDE * sizeof *matrix), *column = block(SIDE * sizeof *column);
    uint64_t middle = sort(keys, sorted, &seed);
    uint64_t sum = look_up(table, &seed);
    middle ^= sort(sorted, keys, &seed);
    double product = multiply(matrix, column);
    sum += look_up(table, &seed);
    printf("%lu %lu %g\n", (unsigned long)middle, (unsigned long)sum, product);
    return 0;
}
