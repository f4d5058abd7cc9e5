// Lists of nodes of a page each, in an order by chance: `pointers NODES THREADS [plain|untagged|reused|marked|tagged]`. The
// pointers may be said to be none (untagged), or that was said of memory that is given back before, most of it never used
// (reused); or have a mark in their lowest bit, and be said to be pointers (tagged). Each thread walks its own three times
// and changes every node, and gives the mapping back while what lies there may still be on its way. Prints what it found.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <farside.h>

enum { PAGE = 4096, WORDS = PAGE / 8 };

struct node {
    uint64_t value;
    uintptr_t next;
    uint64_t rest[WORDS - 2];
};

static size_t nodes;
static int marks, tags, untags, reuses;

static struct node *map(void)
{
    void *memory = mmap(NULL, nodes * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) exit(2);
    return memory;
}

// Memory of which something is said, and that is given back.
static void say_and_unmap(void)
{
    struct node *memory = map();
    for (size_t i = 0; i < nodes; i += 256) memory[i].value = i;
    if (farside_untag(memory, nodes * PAGE)) exit(3);
    munmap(memory, nodes * PAGE);
}

static void *walk(void *seed)
{
    uint64_t state = (uintptr_t)seed, sum = 0;
    size_t *order = malloc(nodes * sizeof *order);
    if (reuses) say_and_unmap();
    struct node *memory = map();
    if (!order) exit(2);
    for (size_t i = 0; i < nodes; i++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        size_t other = (size_t)(state >> 33) % (i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    for (size_t i = 0; i < nodes; i++) {
        struct node *node = &memory[order[i]];
        *node = (struct node){ .value = i, .next = (uintptr_t)&memory[order[(i + 1) % nodes]] | marks };
        for (size_t word = 0; word < WORDS - 2; word++) node->rest[word] = i * word;
        if (tags && farside_tag(&node->next, sizeof node->next)) exit(3);
        if (untags && farside_untag(node, sizeof *node)) exit(3);
    }
    struct node *node = &memory[order[0]];
    for (size_t i = 0; i < 3 * nodes; i++, node = (struct node *)(node->next & ~(uintptr_t)7)) {
        sum = sum * 31 + node->value + node->rest[i % (WORDS - 2)];
        node->value += i;
    }
    free(order);
    munmap(memory, nodes * PAGE);
    return (void *)(uintptr_t)sum;
}

int main(int count, char **arguments)
{
    if (count != 3 && count != 4) return 2;
    const char *how = count == 4 ? arguments[3] : "plain";
    tags = !strcmp(how, "tagged");
    untags = !strcmp(how, "untagged");
    reuses = !strcmp(how, "reused");
    marks = tags || !strcmp(how, "marked");
    nodes = strtoul(arguments[1], NULL, 10);
    long threads = atol(arguments[2]);
    pthread_t thread[16];
    for (long i = 0; i < threads && i < 16; i++)
        if (pthread_create(&thread[i], NULL, walk, (void *)(i + 1))) return 2;
    for (long i = 0; i < threads && i < 16; i++) {
        void *sum;
        pthread_join(thread[i], &sum);
        printf("%016lx\n", (unsigned long)(uintptr_t)sum);
    }
    return 0;
}
