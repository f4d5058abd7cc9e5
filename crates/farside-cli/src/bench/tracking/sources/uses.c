/* Uses pages in an order of which it is known how many misses there are with each size of memory.
 *
 * loop    again and again from the first to the last
 * mixed   again and again in one order by chance
 * chance  by chance, each as likely as any other
 * two     a quarter three times, then the rest
 *
 * Arguments: order, pages, uses. Says "done" and waits for its input to end before it does. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

static volatile unsigned char *memory;
static uint64_t sum, state = 88172645463325252u;

static void use(size_t page)
{
    sum += memory[page * PAGE + page % PAGE];
}

static uint64_t chance(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state >> 11;
}

/* An order by chance in which each comes once. */
static size_t *mixed(size_t pages)
{
    size_t *order = malloc(pages * sizeof *order);
    if (!order)
        exit(1);
    for (size_t at = 0; at < pages; at++) {
        size_t with = chance() % (at + 1);
        order[at] = order[with];
        order[with] = at;
    }
    return order;
}

int main(int count, char **values)
{
    if (count != 4)
        return 2;
    size_t pages = strtoul(values[2], NULL, 10), uses = strtoul(values[3], NULL, 10);
    memory = malloc(pages * PAGE);
    if (!memory)
        return 1;
    for (size_t page = 0; page < pages; page++)
        for (size_t at = 0; at < PAGE; at += 8)
            *(uint64_t *)(memory + page * PAGE + at) = chance();
    size_t *order = strcmp(values[1], "mixed") ? NULL : mixed(pages);
    for (size_t done = 0; done < uses;) {
        if (!strcmp(values[1], "chance")) {
            use(chance() % pages);
            done++;
        } else if (order) {
            for (size_t at = 0; at < pages; at++, done++)
                use(order[at]);
        } else if (!strcmp(values[1], "loop")) {
            for (size_t page = 0; page < pages; page++, done++)
                use(page);
        } else {
            for (size_t at = 0; at < pages / 4 * 3; at++, done++)
                use(at % (pages / 4));
            for (size_t page = pages / 4; page < pages; page++, done++)
                use(page);
        }
    }
    printf("%llu\ndone\n", (unsigned long long)sum);
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}
