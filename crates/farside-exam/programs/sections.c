/*
 * Uses sections in all ways; what it prints depends on none of them.
 *
 *     sections WAYS LINE CAPACITY [WHAT]
 */
#include <farside/section.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4

static struct farside_section section;
static unsigned long line_length;

struct edge {
    uint32_t from, to;
};

/* No power of two: some lie across the ends of lines. */
struct record {
    uint64_t key, visits;
    unsigned char rest[24];
};

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static farside_ptr allocate(size_t size, size_t align) {
    farside_ptr pointer = farside_section_alloc(&section, size, align);
    if (!pointer) {
        puts("no memory");
        exit(1);
    }
    return pointer;
}

/* A graph of nodes in the section: each edge is followed, and both nodes are counted (Mira, figure 3.1). */
static void graph(void) {
    enum { NODES = 20000, EDGES = 60000, AHEAD = 8 };
    struct edge *edges = (struct edge *)malloc(EDGES * sizeof *edges);
    const farside_ptr nodes = allocate(NODES * 64, 64);
    uint64_t sum = 0;
    int i;
    farside_fill(&section, nodes, 0, NODES * 64);
    for (i = 0; i < EDGES; i++) {
        edges[i].from = next_random() % NODES;
        edges[i].to = next_random() % NODES;
    }
    for (i = 0; i < EDGES; i++) {
        const farside_ptr from = nodes + edges[i].from * 64, to = nodes + edges[i].to * 64;
        if (i + AHEAD < EDGES) {
            farside_fetch_if_absent(&section, nodes + edges[i + AHEAD].from * 64);
            farside_fetch_if_absent(&section, nodes + edges[i + AHEAD].to * 64);
        }
        {
            uint64_t *a = (uint64_t *)farside_pin_line_mut(&section, from, 64);
            uint64_t *b = (uint64_t *)farside_at_mut(&section, to, 64);
            b[1] += ++a[0];
            sum += b[1];
            farside_unpin_line(&section, a);
        }
    }
    for (i = 0; i < NODES; i++) {
        sum = sum * 31 + farside_get(uint64_t, &section, nodes + (farside_ptr)i * 64 + 8);
    }
    printf("graph %llu\n", (unsigned long long)sum);
    farside_section_free(nodes);
    free(edges);
}

/* Records across the ends of lines, written in one order and read in another. */
static void records(void) {
    enum { COUNT = 30000 };
    const farside_ptr all = allocate(COUNT * sizeof(struct record), 0);
    struct record record;
    uint64_t sum = 0;
    farside_ptr i;
    memset(&record, 0, sizeof record);
    for (i = 0; i < COUNT; i++) {
        record.key = i * 7;
        record.visits = 0;
        memset(record.rest, (int)i, sizeof record.rest);
        farside_write(&section, all + i * sizeof record, &record, sizeof record);
    }
    for (i = 0; i < COUNT; i++) {
        const farside_ptr at = all + i * 7919 % COUNT * sizeof record;
        const uint64_t visits = farside_get(uint64_t, &section, at + 8);
        farside_set(uint64_t, &section, at + 8, visits + i);
    }
    for (i = 0; i < COUNT; i++) {
        if (i % 100 == 0) farside_evict_soon(all + i * sizeof record, 100);
        farside_read(&section, &record, all + (COUNT - 1 - i) * sizeof record, sizeof record);
        sum = sum * 31 + record.key + record.visits + record.rest[23];
    }
    farside_flush(all, COUNT * sizeof record);
    printf("records %llu\n", (unsigned long long)sum);
    farside_section_free(all);
}

/* A list whose nodes are blocks of their own, some of which are freed. */
static void list(void) {
    enum { COUNT = 20000 };
    farside_ptr head = 0, at, next;
    uint64_t sum = 0;
    int i;
    for (i = 0; i < COUNT; i++) {
        const size_t size = 16 + next_random() % 100;
        const farside_ptr node = allocate(size, 0);
        farside_set(farside_ptr, &section, node, head);
        farside_set(uint64_t, &section, node + 8, i);
        head = node;
    }
    for (at = head; at; at = next) {
        next = farside_get(farside_ptr, &section, at);
        if (next && farside_get(uint64_t, &section, next + 8) % 3 == 0) {
            const farside_ptr gone = next;
            next = farside_get(farside_ptr, &section, gone);
            farside_set(farside_ptr, &section, at, next);
            farside_section_free(gone);
        }
    }
    for (at = head; at; at = next) {
        next = farside_get(farside_ptr, &section, at);
        sum = sum * 31 + farside_get(uint64_t, &section, at + 8);
        farside_section_free(at);
    }
    printf("list %llu\n", (unsigned long long)sum);
}

/* Only one field of each record comes and goes. */
static void fields(void) {
    enum { COUNT = 20000 };
    static const struct farside_field used = {8, 8};
    const farside_ptr all = allocate(COUNT * 64, 64);
    uint64_t sum = 0;
    farside_ptr i;
    for (i = 0; i < COUNT; i++) {
        farside_fill(&section, all + i * 64, (int)i, 64);
        farside_set(uint64_t, &section, all + i * 64 + 8, i);
    }
    if (farside_section_select(&section, 64, &used, 1) != 0) puts("refused");
    for (i = 0; i < COUNT; i++) {
        const farside_ptr at = all + i * 1009 % COUNT * 64 + 8;
        farside_set(uint64_t, &section, at, farside_get(uint64_t, &section, at) * 3);
    }
    if (farside_section_select(&section, 0, 0, 0) != 0) puts("refused");
    for (i = 0; i < COUNT; i++) {
        sum = sum * 31 + farside_get(uint64_t, &section, all + i * 64 + 8)
              + farside_get(unsigned char, &section, all + i * 64 + 63);
    }
    printf("fields %llu\n", (unsigned long long)sum);
    farside_section_free(all);
}

struct share {
    farside_ptr words;
    unsigned which;
};

enum { WORDS = 40000 };

static void *count(void *argument) {
    const struct share *share = (const struct share *)argument;
    uint64_t state = 12345 + share->which;
    int i;
    for (i = 0; i < 100000; i++) {
        uint64_t *here;
        farside_ptr word;
        state = state * 6364136223846793005u + 1442695040888963407u;
        word = share->words + (state >> 33) % WORDS * 8;
        if (i % 16 == 0) farside_fetch(share->words + (state >> 40) % WORDS * 8, 8);
        here = (uint64_t *)farside_pin_line_mut(&section, word, 8);
        __atomic_fetch_add(here, state >> 50, __ATOMIC_RELAXED);
        farside_unpin_line(&section, here);
    }
    return 0;
}

/* Threads add to the same words. */
static void threads(void) {
    pthread_t thread[THREADS];
    struct share share[THREADS];
    const farside_ptr words = allocate(WORDS * 8, 0);
    uint64_t sum = 0;
    unsigned i;
    farside_fill(&section, words, 0, WORDS * 8);
    for (i = 0; i < THREADS; i++) {
        share[i].words = words;
        share[i].which = i;
        if (pthread_create(&thread[i], 0, count, &share[i]) != 0) exit(1);
    }
    for (i = 0; i < THREADS; i++) pthread_join(thread[i], 0);
    for (i = 0; i < WORDS; i++) sum = sum * 31 + farside_get(uint64_t, &section, words + i * 8);
    printf("threads %llu\n", (unsigned long long)sum);
    farside_section_free(words);
}

/* A child and its parent each have their own from then on. */
static void children(void) {
    enum { COUNT = 60000 };
    const farside_ptr words = allocate(COUNT * 8, 0);
    uint64_t sum = 0;
    int status;
    pid_t child;
    farside_ptr i;
    for (i = 0; i < COUNT; i++) farside_set(uint64_t, &section, words + i * 8, i);
    farside_fetch(words, 4096);
    fflush(stdout);
    child = fork();
    for (i = 0; i < COUNT; i++) {
        const uint64_t value = farside_get(uint64_t, &section, words + i * 8);
        farside_set(uint64_t, &section, words + i * 8, child ? value * 3 : value * 5);
    }
    for (i = 0; i < COUNT; i++) sum = sum * 31 + farside_get(uint64_t, &section, words + i * 8);
    if (!child) {
        printf("child %llu\n", (unsigned long long)sum);
        fflush(stdout);
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child || status != 0) puts("the child failed");
    printf("parent %llu\n", (unsigned long long)sum);
    farside_section_free(words);
}

/* What cannot be is refused, and works as plain memory. */
static void nonsense(void) {
    static const struct farside_section_options wrong[] = {
        {"short lines", 1 << 20, 48, 1, 0, 0},  {"long lines", 1 << 30, 4 << 20, 1, 0, 0},
        {"no lines", 64, 128, 1, 0, 0},         {"wide sets", 1 << 20, 4096, 1000, 0, 0},
        {"no end", (size_t)-1, 64, 0, 0, 0},    {"beyond the limit", 64 << 20, 64, 2, 0, 0},
    };
    size_t i;
    for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct farside_section refused;
        farside_ptr word;
        /* Without Farside nothing is refused. */
        const int result = farside_section_open(&refused, &wrong[i]);
        if (section.id && (result != -1 || (errno != EINVAL && errno != ENOMEM))) puts("not refused");
        word = farside_section_alloc(&refused, 8, 0);
        farside_set(uint64_t, &refused, word, i);
        if (farside_get(uint64_t, &refused, word) != i) puts("lost");
        farside_section_free(word);
        farside_section_close(&refused);
    }
    puts("nonsense");
}

int main(int argc, char **argv) {
    struct farside_section_options how = {"exam", 0, 0, 0, 0, 0};
    const char *what = argc > 4 ? argv[4] : "all";
    const int all = strcmp(what, "all") == 0;
    if (argc < 4) return 2;
    how.ways = (unsigned)atoi(argv[1]);
    how.line = line_length = strtoul(argv[2], 0, 0);
    how.capacity = strtoul(argv[3], 0, 0);
    how.shared = strcmp(what, "shared") == 0;
    if (farside_section_open(&section, &how) != 0) {
        puts("not opened");
        return 3;
    }
    if (strcmp(what, "wild") == 0) farside_set(int, &section, (farside_ptr)77 << 56, 1);
    if (strcmp(what, "beyond") == 0) farside_set(int, &section, section.base + ((farside_ptr)1 << 40), 1);
    if (strcmp(what, "twice") == 0) {
        /* So that the compiler does not see it. */
        volatile farside_ptr block = allocate(100, 0);
        farside_section_free(block);
        farside_section_free(block);
    }
    if (strcmp(what, "nonsense") == 0) nonsense();
    if (all || strcmp(what, "shared") == 0) {
        graph();
        records();
        list();
        fields();
        threads();
        children();
    }
    farside_section_close(&section);
    return 0;
}
