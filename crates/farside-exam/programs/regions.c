// Two arrays that are used in different ways, `regions LOOP CHANCE ROUNDS`: all pages of one, from the first to the last, in
// each round, and after each of them a page of the other by chance. Both are written, too, and there are small things beside
// them. Prints a sum of all that they hold at the end.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAGE = 4096, WORDS = PAGE / 8 };

static uint64_t state = 88172645463325252u;

static uint64_t chance(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state >> 11;
}

static uint64_t sum(const uint64_t *array, size_t pages)
{
    uint64_t all = 0;
    for (size_t word = 0; word < pages * WORDS; word += 61)
        all = all * 31 + array[word];
    return all;
}

int main(int count, char **values)
{
    if (count != 4)
        return 2;
    size_t pages = strtoul(values[1], NULL, 10), others = strtoul(values[2], NULL, 10);
    size_t rounds = strtoul(values[3], NULL, 10);
    uint64_t *loop = malloc(pages * PAGE), *random = calloc(others, PAGE);
    if (!loop || !random)
        return 1;
    for (size_t word = 0; word < pages * WORDS; word++)
        loop[word] = chance();
    uint64_t *list = NULL;
    for (size_t round = 0; round < rounds; round++)
        for (size_t page = 0; page < pages; page++) {
            uint64_t number = chance();
            uint64_t *place = random + number % others * WORDS + number % WORDS;
            *place += loop[page * WORDS + number % WORDS];
            if (number % 8 == 0)
                loop[page * WORDS + number % WORDS] ^= *place;
            if (number % 64 == 0) {
                uint64_t *node = malloc(64);
                if (!node)
                    return 1;
                node[0] = (uint64_t)list;
                node[1] = number;
                list = node;
            }
        }
    uint64_t small = 0;
    for (; list; list = (uint64_t *)list[0])
        small = small * 31 + list[1];
    printf("%llx %llx %llx\n", (unsigned long long)sum(loop, pages), (unsigned long long)sum(random, others),
           (unsigned long long)small);
    return 0;
}
