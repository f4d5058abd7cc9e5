// Known patterns of page accesses in one large allocation: `patterns PATTERN [EXIT_CODE]`, or `told` and PATTERN in
// the environment. Prints a checksum.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 6000, WIDE = 2 * PAGES };

static volatile unsigned char *data;

static void touch(long page)
{
    data[page * PAGE + page % PAGE] += 1;
}

// Up once, down once, and in steps of 7 pages.
static void scan(void)
{
    for (long page = 0; page < PAGES; page++)
        touch(page);
    for (long page = PAGES; page-- > 0;)
        touch(page);
    for (long i = 0; i < PAGES; i++)
        touch(i * 7 % PAGES);
}

// Up a few times.
static void passes(void)
{
    for (long i = 0; i < 4 * PAGES; i++)
        touch(i % PAGES);
}

// As `scan`, but beside it grows a block of which a tape of that knows nothing.
static void strangers(void)
{
    volatile unsigned char *block = malloc((size_t)PAGES / 8 * PAGE);
    for (long page = 0; page < PAGES; page++) {
        touch(page);
        if (page % 8 == 0)
            block[page / 8 * PAGE] = 1;
    }
    for (long page = PAGES; page-- > 0;)
        touch(page);
    for (long i = 0; i < PAGES; i++)
        touch(i * 7 % PAGES);
}

// As passes, but of twice as much.
static void wide(void)
{
    for (long i = 0; i < 4 * WIDE; i++)
        touch(i % WIDE);
}

// One page of each eight, and now and then the next one too, as a matrix is read row by row that lies column by column.
static void columns(void)
{
    for (long row = 0; row < 16; row++)
        for (long column = 0; column < PAGES / 8; column++) {
            touch(column * 8 + row / 2);
            if (column % 16 == 0)
                touch(column * 8 + (row / 2 + 1) % 8);
        }
}

// Two halves take turns: one is read and the other one written, as in transforms that do not work in place.
static void halves(void)
{
    for (long pass = 0; pass < 6; pass++) {
        const long from = pass % 2 * (PAGES / 2), to = PAGES / 2 - from;
        for (long page = 0; page < PAGES / 2; page++)
            data[(to + page) * PAGE + 5] = data[(from + page) * PAGE + 5] + pass + page;
    }
}

// Down the columns of a matrix with rows of two pages: another page with each use, and the same ones with each column.
static void down(void)
{
    for (long column = 0; column < 200; column++)
        for (long row = 0; row < PAGES / 2; row++)
            touch(row * 2 + column / 100);
}

// Back and forth between few pages, so that small microsets tell more than large ones.
static void few(void)
{
    for (long round = 0; round < 50; round++)
        for (long page = 0; page < 10; page++)
            touch(page * 3 + round % 2);
}

// Through all pages, and back to some of them all the time.
static void hot(void)
{
    for (long page = 0; page < PAGES; page++) {
        touch(page);
        touch(page % 8);
    }
}

// Single instructions that need two pages at once, and copies from page to page.
static void straddle(void)
{
    uint64_t sum = 0;
    for (long page = 0; page < 200; page++) {
        volatile uint64_t *both = (volatile uint64_t *)(data + (page + 1) * PAGE - 4);
        *both += page;
        sum += *both;
        memcpy((void *)(data + (1000 + page) * PAGE - 100), (void *)(data + page * PAGE), PAGE);
    }
    printf("%lu\n", (unsigned long)sum);
}

// In an order that does not compress.
static void shuffle(void)
{
    uint64_t random = 88172645463325252u;
    for (long i = 0; i < 300000; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        touch(random % PAGES);
    }
}

static pthread_barrier_t barrier;

// Threads with parts of their own, and one that all of them read, meeting now and then.
static void *work(void *argument)
{
    long own = (long)argument;
    for (long round = 0; round < 5; round++) {
        for (long page = 0; page < 1000; page++)
            touch(own * 1000 + page);
        for (long page = 5000; page < 5100; page++)
            __atomic_fetch_add((unsigned char *)&data[page * PAGE], 1, __ATOMIC_RELAXED);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t thread[3];
    pthread_barrier_init(&barrier, NULL, 3);
    for (long i = 0; i < 3; i++)
        pthread_create(&thread[i], NULL, work, (void *)(i + 1));
    for (long i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
}

// A child that goes on by itself.
static void child(void)
{
    scan();
    if (fork() == 0) {
        scan();
        _exit(0);
    }
    scan();
}

int main(int count, char **arguments)
{
    struct { const char *name; void (*run)(void); } patterns[] = {
        { "scan", scan }, { "passes", passes }, { "strangers", strangers }, { "wide", wide }, { "columns", columns }, { "halves", halves }, { "down", down }, { "few", few }, { "hot", hot }, { "straddle", straddle }, { "threads", threads }, { "child", child }, { "shuffle", shuffle },
    };
    // What a program reads decides what it does, too.
    const char *told = getenv("PATTERN"), *pattern = count >= 2 ? arguments[1] : "";
    if (told && !strcmp(pattern, "told"))
        pattern = told;
    data = malloc((size_t)(strcmp(pattern, "wide") ? PAGES : WIDE) * PAGE + PAGE);
    data = (void *)(((uintptr_t)data + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (!strcmp(pattern, patterns[i].name))
            patterns[i].run();
    uint64_t sum = 0;
    if (strcmp(pattern, "few"))
        for (size_t i = 0; i < (size_t)PAGES * PAGE; i++)
            sum = sum * 31 + data[i];
    printf("%016lx\n", (unsigned long)sum);
    return count > 2 ? atoi(arguments[2]) : 3;
}
