/* Accesses that can be counted by hand, in a mapping whose first page is printed. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 2048 };

static volatile char *area;

static volatile uint64_t *word(size_t page, size_t offset)
{
    return (volatile uint64_t *)(area + page * PAGE + offset);
}

/* Everything between the accesses stays in registers. */
static void pattern(void)
{
    volatile uint64_t *p0 = word(0, 0), *p1 = word(1, 0), *p2 = word(2, 4088), *p3 = word(3, 8);
    volatile uint64_t *across = word(7, 4092), *last = word(9, 4064);
    uint64_t sum = 0;
    sum += *p0;
    *p3 = 1;
    *p3 = 2;
    sum += *p1, sum += *p1, sum += *p1, sum += *p1, sum += *p1;
    *across = 3;
    sum += *across;
    sum += *p2;
    *p2 = 4;
    sum += *last;
    sum += *p0;
    *p0 = sum;
}

/* More accesses to one page than a record of the plugin holds, then another page. */
static void heavy(void)
{
    volatile uint64_t *p0 = word(0, 0), *p1 = word(1, 0);
    for (int i = 0; i < 20000; i++)
        (void)*p0;
    *p1 = 1;
}

static atomic_int turn;
static int rounds;

/* Threads take turns: what one does before it hands over comes first. */
static void *take_turns(void *argument)
{
    int me = (int)(intptr_t)argument;
    for (int i = 0; i < rounds; i++) {
        for (int spins = 0; atomic_load(&turn) != me; spins++)
            if (spins % 100 == 99)
                sched_yield();
        *word(2 * i + me, 0) = i;
        atomic_store(&turn, 1 - me);
    }
    return NULL;
}

/* Every thread sweeps pages of its own. */
static void *sweep(void *argument)
{
    int me = (int)(intptr_t)argument;
    for (int i = 0; i < rounds; i++)
        for (int page = 0; page < 100; page++)
            (void)*word(me * 100 + page, 0);
    return NULL;
}

/* One thread stays on a page until the other, which goes over many pages, lets it go. */
static void *hold(void *argument)
{
    if (argument) {
        for (int i = 0; i < rounds; i++)
            for (int page = 1; page <= 1000; page++)
                *word(page, 0) = i;
        *word(0, 0) = 1;
    } else {
        while (!*word(0, 0))
            ;
    }
    return NULL;
}

static void run_threads(int count, void *(*body)(void *))
{
    pthread_t threads[16];
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, body, (void *)(intptr_t)i);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

/* Threads one after the other, more than there is room for at once. */
static void many(void)
{
    for (rounds = 1; rounds < 100; rounds++)
        run_threads(16, sweep);
}

static void wait_for_input(void)
{
    char byte;
    puts("ready");
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        ;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    area = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("%lu\n", (unsigned long)area / PAGE);
    fflush(stdout);
    if (!strcmp(what, "pattern")) {
        pattern();
    } else if (!strcmp(what, "heavy")) {
        heavy();
    } else if (!strcmp(what, "turns")) {
        rounds = 1000;
        run_threads(2, take_turns);
    } else if (!strcmp(what, "sweep")) {
        rounds = 300;
        run_threads(4, sweep);
    } else if (!strcmp(what, "hold")) {
        rounds = 300;
        run_threads(2, hold);
    } else if (!strcmp(what, "many")) {
        many();
    } else if (!strcmp(what, "fork")) {
        *word(0, 0) = 1;
        if (fork() == 0) {
            *word(1, 0) = 1;
            execlp("true", "true", NULL);
        }
        wait(NULL);
        *word(2, 0) = 1;
    } else if (!strcmp(what, "wait")) {
        pattern();
        wait_for_input();
    } else if (!strcmp(what, "flood")) {
        for (int i = 0; i < 10000; i++)
            for (int page = 0; page < PAGES; page++)
                *word((page * 1013) % PAGES, 0) = i;
    } else if (!strcmp(what, "unmap")) {
        munmap((void *)area, PAGES * PAGE);
    }
    return 7;
}
