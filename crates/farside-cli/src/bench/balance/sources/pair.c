/* Two works side by side, or one of them: how many pages each gets done in a time.
 *
 * loop    again and again from the first page to the last
 * chance  pages by chance, each as likely as any other
 * both    each in a thread of its own
 *
 * Arguments: which, pages of the loop, pages of the other, milliseconds before anything counts, and in which it counts.
 * Each page that is come to is read several times: that is the work. Prints "loop N" and "chance N". */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAGE = 4096, WORDS = PAGE / 8, ROUNDS = 24 };

struct work {
    const char *name;
    size_t pages;
    int by_chance;
    uint64_t *memory;
    uint64_t state, sum, done;
};

static double begins, counts, ends;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static uint64_t chance(struct work *work)
{
    work->state ^= work->state << 13;
    work->state ^= work->state >> 7;
    work->state ^= work->state << 17;
    return work->state >> 11;
}

static void use(struct work *work, size_t page)
{
    const uint64_t *words = work->memory + page * WORDS;
    for (int round = 0; round < ROUNDS; round++)
        for (size_t word = 0; word < WORDS; word += 2)
            work->sum = (work->sum << 1 | work->sum >> 63) + words[word];
}

static void *does(void *argument)
{
    struct work *work = argument;
    for (size_t page = 0; page < work->pages; page++)
        for (size_t word = 0; word < WORDS; word++)
            work->memory[page * WORDS + word] = chance(work);
    for (size_t at = 0;; at++) {
        double time = now();
        if (time >= ends)
            break;
        use(work, work->by_chance ? chance(work) % work->pages : at % work->pages);
        work->done += time >= counts;
    }
    return NULL;
}

int main(int count, char **values)
{
    if (count != 6)
        return 2;
    struct work works[2] = {{.name = "loop", .state = 88172645463325252u},
                            {.name = "chance", .by_chance = 1, .state = 2463534242u}};
    begins = now();
    counts = begins + atof(values[4]);
    ends = counts + atof(values[5]);
    pthread_t threads[2];
    int runs[2];
    for (int i = 0; i < 2; i++) {
        runs[i] = !strcmp(values[1], "both") || !strcmp(values[1], works[i].name);
        if (!runs[i])
            continue;
        works[i].pages = strtoul(values[2 + i], NULL, 10);
        works[i].memory = malloc(works[i].pages * PAGE);
        if (!works[i].pages || !works[i].memory || pthread_create(&threads[i], NULL, does, &works[i]))
            return 1;
    }
    uint64_t sum = 0;
    for (int i = 0; i < 2; i++) {
        if (!runs[i])
            continue;
        pthread_join(threads[i], NULL);
        printf("%s %llu\n", works[i].name, (unsigned long long)works[i].done);
        sum += works[i].sum;
    }
    fprintf(stderr, "%s", sum == 1 ? " " : "");
    return 0;
}
