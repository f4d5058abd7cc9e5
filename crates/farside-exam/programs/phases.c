/*
 * Three sections that share local memory, used in phases; what it prints depends on nothing but its arguments. Together
 * they are larger than what is local.
 *
 *     phases WAYS LINE CAPACITY SHARED
 */
#include <farside/section.h>

#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECTIONS = 3, WORDS = 300000, THREADS = 3 };

static struct farside_section sections[SECTIONS];
static farside_ptr words[SECTIONS];

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static farside_ptr word(int which, uint64_t at) { return words[which] + at * 8; }

/* Adds numbers to words here and there. */
static void add(int which, uint64_t seed) {
    struct farside_section *section = &sections[which];
    uint64_t state = seed, ahead = seed;
    int i;
    for (i = 0; i < 8; i++) next_random(&ahead);
    for (i = 0; i < 20000; i++) {
        const farside_ptr here = word(which, next_random(&state) % WORDS);
        farside_fetch_if_absent(section, word(which, next_random(&ahead) % WORDS));
        farside_set(uint64_t, section, here, farside_get(uint64_t, section, here) + seed + (uint64_t)i);
    }
}

static uint64_t sum(int which) {
    uint64_t total = 0, i;
    for (i = 0; i < WORDS; i++) {
        total = total * 31 + farside_get(uint64_t, &sections[which], word(which, i));
    }
    return total;
}

static void show(const char *what) {
    int i;
    for (i = 0; i < SECTIONS; i++) printf("%s %d %016llx\n", what, i, (unsigned long long)sum(i));
    fflush(stdout);
}

/* What is pinned stays, whoever needs memory. */
static void pinned(void) {
    uint64_t *here = (uint64_t *)farside_pin_line_mut(&sections[0], word(0, 5), 8), i, total = 0;
    *here = 77;
    for (i = 0; i < 20000; i += 10) {
        farside_set(uint64_t, &sections[1], word(1, i), i);
        *here += farside_get(uint64_t, &sections[1], word(1, i / 2 / 10 * 10));
        total += farside_get(uint64_t, &sections[0], word(0, i));
    }
    if (farside_pin_line(&sections[0], word(0, 5)) != (void *)here) puts("it moved");
    farside_unpin_line(&sections[0], here);
    farside_unpin_line(&sections[0], here);
    printf("pinned %llu\n", (unsigned long long)total);
}

/* Both go on with what there was. */
static void children(void) {
    int status = 0;
    pid_t child;
    fflush(stdout);
    farside_fetch(word(2, 0), WORDS);
    child = fork();
    if (!child) {
        add(0, 99);
        add(2, 98);
        show("child");
        _exit(0);
    }
    add(1, 97);
    add(2, 96);
    if (waitpid(child, &status, 0) != child || status != 0) puts("the child failed");
    show("parent");
}

/* Each thread has words of its own in all sections, which lie beside those of others, and looks at the sections by turns. */
static void *work(void *argument) {
    const uint64_t thread = (uint64_t)(uintptr_t)argument;
    uint64_t round, i;
    for (round = 0; round < 30; round++) {
        const int which = (int)((round / 3 + thread) % SECTIONS);
        for (i = 0; i < 500; i++) {
            const farside_ptr here = word(which, (round % 3 * 500 + i) * 17 * THREADS + thread);
            if (i % 5) {
                farside_set(uint64_t, &sections[which], here, farside_get(uint64_t, &sections[which], here) * 3 + i);
            } else {
                uint64_t *there = (uint64_t *)farside_pin_line_mut(&sections[which], here, 8);
                if (!there) abort();
                *there += round;
                farside_unpin_line(&sections[which], there);
            }
        }
    }
    return 0;
}

static void threads(void) {
    pthread_t all[THREADS];
    uintptr_t i;
    for (i = 0; i < THREADS; i++) {
        if (pthread_create(&all[i], 0, work, (void *)i)) abort();
    }
    for (i = 0; i < THREADS; i++) pthread_join(all[i], 0);
    show("threads");
}

static void open_one(int which, struct farside_section_options *how) {
    struct farside_section *section = &sections[which];
    if (farside_section_open(section, how) != 0) puts("not opened");
    words[which] = farside_section_alloc(section, WORDS * 8, 64);
    if (!words[which]) puts("no memory");
    farside_fill(section, words[which], 0, WORDS * 8);
}

int main(int argc, char **argv) {
    struct farside_section_options how = {"first", 0, 0, 0, 0, 0};
    int i;
    if (argc < 5) return 2;
    how.ways = (unsigned)atoi(argv[1]);
    how.line = strtoul(argv[2], 0, 0);
    how.capacity = strtoul(argv[3], 0, 0);
    how.shared = atoi(argv[4]);
    open_one(0, &how);
    how.with = &sections[0];
    how.capacity += how.capacity / 4;
    open_one(1, &how);
    how.with = &sections[1];
    how.ways = 0;
    open_one(2, &how);
    for (i = 0; i < 9; i++) add(i % SECTIONS, (uint64_t)i + 1);
    show("phases");
    pinned();
    show("pinned");
    children();
    if (how.shared) threads();
    /* The others go on without one, and with one more. */
    farside_section_free(words[1]);
    farside_section_close(&sections[1]);
    add(0, 50);
    how.with = &sections[2];
    how.capacity /= 3;
    open_one(1, &how);
    for (i = 0; i < 3; i++) add(i, 60);
    show("again");
    for (i = 0; i < SECTIONS; i++) {
        farside_section_free(words[i]);
        farside_section_close(&sections[i]);
    }
    return 0;
}
