/*
 * Gives hints: `hints MEGABYTES WHAT`. Prints sums over what it read, which hints must not change.
 *
 * WHAT is a pass over memory, hinted: `forwards`, `backwards`, `scattered`, `objects`, `written`, `new`, `listed`,
 * `done`, `pinned`, `ranked`, `unranked`, `region`, `regions`;
 * `threads` and `fork`: several at once; `vain`: hints that are of no use; or `misuse`: hints at what is no far memory, or was, and in signal handlers.
 */
#include <farside.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, WORDS = PAGE / 8, THREADS = 4, OBJECT = 9000, ALARMS = 300 };

static uint64_t *memory;
static size_t pages;

static uint64_t mix(uint64_t x) {
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9u;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static uint64_t forwards(void) {
    uint64_t sum = 0;
    for (size_t i = 0; i < pages * WORDS; i++) {
        farside_hint(&memory[i], .ahead = 32, .sequential = 1);
        sum = sum * 3 + memory[i];
    }
    return sum;
}

static uint64_t backwards(void) {
    uint64_t sum = 0;
    for (size_t i = pages * WORDS; i-- > 0;) {
        farside_hint(&memory[i], .ahead = -32, .sequential = 1);
        sum = sum * 3 + memory[i];
    }
    return sum;
}

static uint64_t scattered(uint64_t seed) {
    uint64_t sum = 0;
    for (size_t i = 0; i < 2 * pages; i++) {
        const uint64_t *at = &memory[mix(seed + i) % (pages * WORDS)];
        farside_hint(at, .priority = i % 8);
        sum = sum * 3 + *at;
    }
    return sum;
}

static uint64_t objects(void) {
    uint64_t sum = 0;
    size_t count = pages * PAGE / OBJECT;
    for (size_t i = 0; i < count; i++) {
        const unsigned char *at = (const unsigned char *)memory + mix(i) % count * OBJECT;
        farside_hint(at, .size = OBJECT);
        for (size_t j = 0; j < OBJECT; j += 100) sum = sum * 3 + at[j];
    }
    return sum;
}

static uint64_t written(void) {
    for (size_t i = 0; i < 2 * pages; i++) {
        uint64_t *at = &memory[mix(i) % (pages * WORDS)];
        farside_hint(at, .mut = 1);
        *at = mix(*at);
    }
    return forwards();
}

/* Memory that nobody has touched, in one mapping that is given back. */
static uint64_t fresh(void) {
    uint64_t sum = 0, *at = mmap(0, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) exit(3);
    for (size_t i = 0; i < pages * WORDS; i += WORDS / 2) {
        farside_hint(&at[i], .mut = 1, .ahead = 32, .sequential = 1);
        at[i] = mix(i);
    }
    for (size_t i = 0; i < pages * WORDS; i += 16) sum = sum * 3 + at[i];
    munmap(at, pages * PAGE);
    farside_hint(at, .size = pages * PAGE, .mut = 1);
    return sum;
}

/* What is listed beforehand, in three ways. */
static uint64_t listed(void) {
    enum { SOME = 100 };
    uint64_t sum = 0;
    uint32_t indices[SOME];
    const void *places[SOME];
    for (uint64_t round = 0; round < 60; round++) {
        for (int i = 0; i < SOME; i++) {
            indices[i] = mix(round * SOME + i) % (pages * WORDS);
            places[i] = &memory[mix(~(round * SOME + i)) % (pages * WORDS)];
        }
        farside_ahead(places, SOME);
        farside_ahead_indirect(memory, sizeof *memory, indices, SOME);
        for (int i = 0; i < SOME; i++) {
            farside_hint(&memory[indices[i]]);
            sum = sum * 3 + memory[indices[i]];
            farside_hint(places[i]);
            sum = sum * 3 + *(const uint64_t *)places[i];
        }
        uint64_t *first = &memory[mix(round) % (pages * WORDS / 2)];
        size_t stride = pages * WORDS / 2 / SOME;
        farside_ahead_strided(first, stride * sizeof *first, SOME);
        for (int i = 0; i < SOME; i++) {
            farside_hint(&first[i * stride]);
            sum = sum * 3 + first[i * stride];
        }
    }
    return sum;
}

/* A pass that says what it is done with, beside a part that is used again and again. */
static uint64_t done(void) {
    enum { CHUNK = 64 };
    uint64_t sum = 0;
    for (int round = 0; round < 4; round++) {
        for (size_t chunk = pages / 8; chunk + CHUNK <= pages; chunk += CHUNK) {
            for (size_t page = chunk; page < chunk + CHUNK; page++) sum = sum * 3 + memory[page * WORDS];
            farside_done(&memory[chunk * WORDS], CHUNK * PAGE);
            for (size_t page = 0; page < pages / 8; page++) sum = sum * 3 + memory[page * WORDS];
        }
    }
    return sum;
}

/* A table that is used all the time beside large objects that are not, which get a priority of their own. */
static uint64_t ranked(unsigned priority) {
    uint64_t sum = 0;
    size_t table = pages / 8 * WORDS, objects = pages / 2;
    for (uint64_t i = 0; i < 4000; i++) {
        const uint64_t *object = &memory[table + mix(i) % objects * WORDS];
        for (uint64_t j = 0; j < 8; j++) {
            const uint64_t *entry = &memory[mix(i * 8 + j) % table];
            farside_hint(entry);
            sum = sum * 3 + *entry;
        }
        farside_hint(object, .size = 2 * PAGE, .priority = priority);
        sum = sum * 3 + object[0] + object[WORDS];
    }
    return sum;
}

/* The same with a policy of its own for the part where priorities matter, whatever the run's is. */
static uint64_t region(void) {
    if (farside_region(memory, pages * PAGE, "priority")) exit(8);
    return ranked(7);
}

/* Regions that change, too many of them, and such as cannot be meant, which change nothing. */
static uint64_t regions(void) {
    static const char *const refused[] = {"no such policy", "arc", "a name that is longer than that of any policy"};
    uint64_t sum = 0;
    /* Without Farside, nothing is refused. */
    int refusal = farside_begin ? -1 : 0;
    for (int i = 0; i < 3; i++) {
        if (farside_region(memory, pages * PAGE, refused[i]) != refusal) exit(8);
    }
    if (farside_region(&sum, sizeof sum, "fifo") != refusal) exit(8);
    for (size_t i = 0; i < pages; i += pages / 16) farside_region(&memory[i * WORDS], PAGE * 9, "fifo");
    if (farside_region(&memory[WORDS * 20], PAGE, "fifo") != refusal) exit(8);
    sum = sum * 3 + scattered(1);
    if (farside_region(0, SIZE_MAX, "eden")) exit(8);
    sum = sum * 3 + scattered(2);
    if (farside_region(memory, pages * PAGE / 2, 0)) exit(8);
    return sum * 3 + scattered(3);
}

/* A part that stays whatever else is used. */
static uint64_t pinned(void) {
    uint64_t sum = 0;
    size_t part = pages / 16;
    if (farside_pin(memory, part * PAGE)) exit(7);
    if (farside_pin(memory, pages * PAGE) && errno != ENOMEM) exit(7);
    for (int round = 0; round < 4; round++) {
        sum = sum * 3 + scattered(round);
        for (size_t i = 0; i < part * WORDS; i += 64) sum = sum * 3 + memory[i];
    }
    farside_unpin(memory, part * PAGE);
    farside_unpin(memory, part * PAGE);
    return sum * 3 + scattered(9);
}

static void *thread(void *number) {
    uint64_t *sum = malloc(sizeof *sum);
    *sum = scattered(*(uint64_t *)number / 2) + forwards();
    return sum;
}

static uint64_t threads(void) {
    pthread_t all[THREADS];
    uint64_t numbers[THREADS], total = 0;
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        if (pthread_create(&all[i], 0, thread, &numbers[i])) exit(4);
    }
    for (int i = 0; i < THREADS; i++) {
        void *sum;
        if (pthread_join(all[i], &sum)) exit(4);
        total += *(uint64_t *)sum;
        free(sum);
    }
    return total;
}

static uint64_t forked(void) {
    int status;
    uint64_t sum = scattered(1);
    pid_t child = fork();
    if (child < 0) exit(5);
    if (child == 0) _exit(written() % 64);
    sum += forwards();
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) exit(5);
    return sum * 64 + WEXITSTATUS(status);
}

static volatile sig_atomic_t alarms;

static void alarmed(int signal) {
    static const struct itimerval never;
    (void)signal;
    /* Where a handler takes longer than it is to the next alarm, nothing else would come to an end. */
    if (++alarms == ALARMS) setitimer(ITIMER_REAL, &never, 0);
    for (int i = 0; i < 8; i++) {
        farside_hint(&memory[mix(alarms * 8 + i) % (pages * WORDS)], .size = 20000, .ahead = 4);
    }
}

/* What is used all the time, and always here. */
__attribute__((noinline)) static uint64_t needless(void) {
    uint64_t sum = 0;
    for (int i = 0; i < 10000; i++) {
        farside_hint(&memory[i % 64]);
        sum = sum * 3 + memory[i % 64];
    }
    return sum;
}

/* What is on the stack, beside a little that is not. */
__attribute__((noinline)) static uint64_t strayed(void) {
    volatile uint64_t local = 7;
    uint64_t sum = 0;
    for (int i = 0; i < 1000; i++) {
        const volatile uint64_t *at = i % 8 ? &local : &memory[i];
        farside_hint((const void *)at);
        sum = sum * 3 + *at;
    }
    return sum;
}

/* Of what comes, little is used. */
__attribute__((noinline)) static uint64_t overshot(void) {
    uint64_t sum = 0;
    for (size_t i = 0; i < 2000; i++) {
        const uint64_t *at = &memory[mix(i) % (pages * WORDS)];
        farside_hint(at, .ahead = 4);
        sum = sum * 3 + *at;
    }
    return sum;
}

static uint64_t vain(void) {
    uint64_t sum = *(volatile uint64_t *)memory;
    sum = sum * 3 + needless();
    sum = sum * 3 + strayed();
    sum = sum * 3 + overshot();
    return sum * 3 + listed();
}

static uint64_t misuse(void) {
    static int global;
    int local = 0;
    uint64_t sum = 0;
    struct sigaction action = {.sa_handler = alarmed, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    farside_hint(0);
    farside_hint(0, .size = SIZE_MAX, .mut = 1);
    farside_hint((void *)-1, .size = SIZE_MAX);
    farside_hint((void *)(uintptr_t)0xdead000000000000u, .size = 1 << 20, .ahead = 1 << 20);
    farside_hint(&global, .mut = 1);
    farside_hint(&local, .size = 1 << 30, .ahead = -1000);
    farside_hint((void *)(uintptr_t)misuse);
    farside_hint("text", .mut = 1);
    farside_hint(memory, .size = SIZE_MAX);
    farside_hint(memory, .size = SIZE_MAX - (uintptr_t)memory, .ahead = -0x7fffffffffffffff - 1);
    farside_hint(&memory[5], .ahead = 0x7fffffffffffffff, .priority = 0xffffffff);
    farside_hint((char *)memory - PAGE, .size = 3 * PAGE, .mut = 1);
    sigaction(SIGALRM, &action, 0);
    setitimer(ITIMER_REAL, &often, 0);
    while (alarms < ALARMS) {
        /* What compilers would warn of is meant here. */
        void *volatile some = malloc(mix(alarms) % 300000);
        farside_hint(some, .size = 300000, .mut = 1);
        free(some);
        farside_hint(some, .size = 300000, .mut = 1);
        sum = scattered(7);
    }
    setitimer(ITIMER_REAL, &never, 0);
    return sum + forwards();
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    pages = strtoul(argv[1], 0, 10) * 256;
    memory = malloc(pages * PAGE);
    if (!memory) return 3;
    for (size_t i = 0; i < pages * WORDS; i++) memory[i] = mix(i);
    const char *what = argv[2];
    uint64_t sum = !strcmp(what, "forwards")  ? forwards()
                   : !strcmp(what, "backwards") ? backwards()
                   : !strcmp(what, "scattered") ? scattered(0)
                   : !strcmp(what, "objects")   ? objects()
                   : !strcmp(what, "written")   ? written()
                   : !strcmp(what, "new")       ? fresh()
                   : !strcmp(what, "listed")    ? listed()
                   : !strcmp(what, "done")      ? done()
                   : !strcmp(what, "pinned")    ? pinned()
                   : !strcmp(what, "ranked")    ? ranked(7)
                   : !strcmp(what, "unranked")  ? ranked(0)
                   : !strcmp(what, "region")    ? region()
                   : !strcmp(what, "regions")   ? regions()
                   : !strcmp(what, "threads")   ? threads()
                   : !strcmp(what, "fork")      ? forked()
                   : !strcmp(what, "vain")      ? vain()
                   : !strcmp(what, "misuse")    ? misuse()
                                                : 0;
    printf("%s: %016llx\n", what, (unsigned long long)sum);
    return 0;
}
