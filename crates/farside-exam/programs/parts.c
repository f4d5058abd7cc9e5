/*
 * Parts of a run on tape: `parts WHAT`, with MODE in the environment: record, prefetch or auto.
 * Prints what the calls return, and a checksum. Compiled as C and as C++.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "farside.h"

enum { PAGE = 4096, PAGES = 6000, THREADS = 3 };

static volatile unsigned char *data;
static int mode;

static void touch(long page)
{
    data[page * PAGE + page % PAGE] += 1;
}

/* Up, down, and in steps of 7 pages; content that was there before, and new memory beside it. */
static void solve(void)
{
    long i, page;
    volatile unsigned char *more = (volatile unsigned char *)malloc((size_t)1000 * PAGE);
    for (page = 0; page < PAGES; page++)
        touch(page);
    for (page = 0; page < 1000; page++)
        more[page * PAGE] = data[page * PAGE];
    for (page = PAGES; page-- > 0;)
        touch(page);
    for (i = 0; i < PAGES; i++)
        touch(i * 7 % PAGES);
    for (page = 0; page < 1000; page++)
        data[page * PAGE] += more[page * PAGE];
    free((void *)more);
}

static void begin(void)
{
    printf("begin %d\n", farside_begin(mode));
}

static void end(void)
{
    printf("end %d\n", farside_end());
}

static void once(void)
{
    begin();
    solve();
    end();
}

/* Three parts at one place, and one elsewhere. */
static void loop(void)
{
    int i;
    for (i = 0; i < 3; i++) {
        begin();
        touch(i);
        solve();
        end();
    }
    printf("begin %d\n", farside_begin(mode));
    solve();
    end();
}

static pthread_barrier_t barrier;

static void *work(void *argument)
{
    long own = *(long *)argument, round, page;
    for (round = 0; round < 5; round++) {
        for (page = 0; page < 1500; page++)
            touch(own * 1500 + page);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

/* Threads made within the part; the last one ends it. */
static void threads(void)
{
    pthread_t made[THREADS];
    long numbers[THREADS];
    long i;
    begin();
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (i = 0; i < THREADS; i++) {
        numbers[i] = i + 1;
        pthread_create(&made[i], NULL, work, &numbers[i]);
    }
    for (i = 0; i < THREADS; i++)
        pthread_join(made[i], NULL);
    end();
}

static void say(const char *what, int result, int number)
{
    printf("%s %d %s\n", what, result, result == 0 ? "" : strerror(number));
}

static void misuse(void)
{
    int result;
    errno = 0;
    result = farside_end();
    say("end before begin", result, errno);
    result = farside_begin(0);
    say("no mode", result, errno);
    result = farside_begin(77);
    say("no such mode", result, errno);
    begin();
    result = farside_begin(mode);
    say("begin again", result, errno);
    solve();
    end();
    result = farside_end();
    say("end again", result, errno);
}

/* A child made in the part is in none. */
static void child(void)
{
    int status = 0;
    begin();
    solve();
    fflush(stdout);
    if (fork() == 0) {
        int ended = farside_end(), begun = farside_begin(mode);
        solve();
        printf("child %d %d\n", ended, begun);
        fflush(stdout);
        _exit(0);
    }
    wait(&status);
    solve();
    end();
    printf("status %d\n", status);
}

static volatile int over;

/* Goes through memory of its own until all is over. */
static void *crowd_work(void *argument)
{
    long number = *(long *)argument, page;
    size_t size = (size_t)1000 * PAGE;
    unsigned char *own = (unsigned char *)malloc(size);
    memset(own, (int)number, size);
    while (!over)
        for (page = 0; page < 1000; page++)
            if (own[page * PAGE + number] != number)
                abort();
    free(own);
    return NULL;
}

/* Parts begin and end while other threads are at work. */
static void crowd(void)
{
    pthread_t made[THREADS];
    long numbers[THREADS];
    long i, page;
    for (i = 0; i < THREADS; i++) {
        numbers[i] = i + 1;
        pthread_create(&made[i], NULL, crowd_work, &numbers[i]);
    }
    for (i = 0; i < 20; i++) {
        begin();
        touch(i);
        end();
        for (page = i; page < PAGES; page += 20)
            touch(page);
    }
    over = 1;
    for (i = 0; i < THREADS; i++)
        pthread_join(made[i], NULL);
}

/* No end before the program ends. */
static void open_end(void)
{
    begin();
    solve();
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = { { "once", once },   { "loop", loop },     { "threads", threads }, { "misuse", misuse },
                { "child", child }, { "open", open_end }, { "crowd", crowd } };
    static const char *const modes[] = { "record", "prefetch", "auto" };
    unsigned long sum = 0;
    size_t i;
    const char *asked = getenv("MODE");
    if (count < 2 || !asked)
        return 2;
    for (i = 0; i < 3; i++)
        if (!strcmp(asked, modes[i]))
            mode = FARSIDE_RECORD + (int)i;
    data = (volatile unsigned char *)malloc((size_t)PAGES * PAGE);
    for (i = 0; i < (size_t)PAGES * PAGE; i++)
        data[i] = (unsigned char)(i * 31 + i / PAGE);
    for (i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(arguments[1], all[i].name))
            all[i].run();
    for (i = 0; i < (size_t)PAGES * PAGE; i++)
        sum = sum * 31 + data[i];
    printf("%lx\n", sum);
    return 0;
}
