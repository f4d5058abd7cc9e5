/*
 * Ways to come to far memory: `pointersites MEGABYTES WAY`. By addresses that were loaded, or that are computed. What touches
 * memory bears the name of its site in a comment. Prints a sum over what it read.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096
#define ROUNDS 3

struct node {
    struct node *next;
    struct node *below[2];
    uint64_t key;
    uint64_t value;
    char rest[PAGE - 40];
};

static uint64_t state = 7;

static uint64_t next_random(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
}

/* Numbers below count in any order. */
static uint64_t *shuffled(size_t count)
{
    uint64_t *order = malloc(count * sizeof *order);
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = count - 1; i > 0; i--) {
        size_t j = next_random() % (i + 1);
        uint64_t other = order[i];
        order[i] = order[j];
        order[j] = other;
    }
    return order;
}

/* Nodes one after the other, that are linked in any order. */
static struct node *nodes_of(size_t count, const uint64_t *order)
{
    uint64_t *follows = malloc(count * sizeof *follows);
    for (size_t i = 0; i < count; i++)
        follows[order[i]] = i + 1 < count ? order[i + 1] : count;
    void *memory = NULL;
    if (posix_memalign(&memory, PAGE, count * PAGE))
        exit(1);
    struct node *nodes = memory;
    for (size_t i = 0; i < count; i++)
        nodes[i] = (struct node){.next = follows[i] < count ? &nodes[follows[i]] : NULL, .value = i};
    free(follows);
    return nodes;
}

__attribute__((noinline)) static uint64_t list(struct node *node)
{
    uint64_t sum = 0;
    while (node) {
        sum += node->value; /* SITE list */
        node = node->next;
    }
    return sum;
}

__attribute__((noinline)) static uint64_t stream(const uint64_t *numbers, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += numbers[i]; /* SITE stream */
    return sum;
}

__attribute__((noinline)) static uint64_t table(const uint64_t *numbers, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count / 256; i++)
        sum += numbers[next_random() % count]; /* SITE table */
    return sum;
}

__attribute__((noinline)) static uint64_t pointers(struct node **nodes, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += nodes[i]->value; /* SITE pointers */
    return sum;
}

__attribute__((noinline)) static uint64_t found(const struct node *node, uint64_t key)
{
    while (node && node->key != key) /* SITE tree */
        node = node->below[key > node->key];
    return node ? node->value : 0;
}

__attribute__((noinline)) static uint64_t read_by_call(const struct node *node)
{
    return node->value; /* SITE called */
}

__attribute__((noinline)) static uint64_t calls(struct node **nodes, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += read_by_call(nodes[i]) * i;
    return sum;
}

static uint64_t lists(size_t count)
{
    uint64_t *order = shuffled(count), sum = 0;
    struct node *nodes = nodes_of(count, order);
    for (int round = 0; round < ROUNDS; round++)
        sum += list(&nodes[order[0]]);
    return sum;
}

static uint64_t trees(size_t count)
{
    uint64_t *order = shuffled(count), sum = 0;
    struct node *nodes = nodes_of(count, order);
    for (size_t i = 0; i < count; i++) {
        struct node *node = &nodes[order[i]];
        node->key = next_random();
        struct node **link = &nodes[order[0]].below[0];
        for (struct node *at = i ? &nodes[order[0]] : NULL; at; at = *link)
            link = &at->below[node->key > at->key];
        if (i)
            *link = node;
    }
    for (size_t i = 0; i < count; i++)
        sum += found(&nodes[order[0]], next_random());
    return sum;
}

static uint64_t arrays(size_t count, int in_order)
{
    size_t numbers = count * PAGE / sizeof(uint64_t);
    uint64_t *array = malloc(count * PAGE), sum = 0;
    for (size_t i = 0; i < numbers; i++)
        array[i] = i;
    for (int round = 0; round < ROUNDS; round++)
        sum += in_order ? stream(array, numbers) : table(array, numbers);
    return sum;
}

static uint64_t by_pointers(size_t count, int calling)
{
    uint64_t *order = shuffled(count), sum = 0;
    struct node *nodes = nodes_of(count, order), **places = malloc(count * sizeof *places);
    for (size_t i = 0; i < count; i++)
        places[i] = &nodes[order[i]];
    for (int round = 0; round < ROUNDS; round++)
        sum += calling ? calls(places, count) : pointers(places, count);
    return sum;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    size_t count = strtoul(argv[1], NULL, 10) * (1 << 20) / PAGE;
    const char *way = argv[2];
    uint64_t sum = 0;
    if (!strcmp(way, "list"))
        sum = lists(count);
    else if (!strcmp(way, "tree"))
        sum = trees(count);
    else if (!strcmp(way, "stream") || !strcmp(way, "table"))
        sum = arrays(count, !strcmp(way, "stream"));
    else
        sum = by_pointers(count, !strcmp(way, "called"));
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
