/* Ways to come to an address. What is looked at in each function is the read of a short. */
#include <stdint.h>

struct node {
    struct node *next, *left, *right;
    long key;
    short *values;
    short value;
};

__attribute__((noinline)) long list(struct node *node)
{
    long sum = 0;
    for (; node; node = node->next)
        sum += node->value;
    return sum;
}

__attribute__((noinline)) long array(short *values, long count)
{
    long sum = 0;
    for (long i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

__attribute__((noinline)) long records(struct node *nodes, long count)
{
    long sum = 0;
    for (long i = 0; i < count; i++)
        sum += nodes[i].value;
    return sum;
}

__attribute__((noinline)) long pointers(struct node **nodes, long count)
{
    long sum = 0;
    for (long i = 0; i < count; i++)
        sum += nodes[i]->value;
    return sum;
}

__attribute__((noinline)) long table(short *slots, uint64_t mask, uint64_t seed, long count)
{
    long sum = 0;
    for (long i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        sum += slots[(seed >> 33) & mask];
    }
    return sum;
}

__attribute__((noinline)) long chains(struct node **slots, uint64_t mask, uint64_t seed, long count)
{
    long sum = 0;
    for (long i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        for (struct node *node = slots[(seed >> 33) & mask]; node; node = node->next)
            sum += node->value;
    }
    return sum;
}

__attribute__((noinline)) long tree(struct node *node, long key)
{
    long sum = 0;
    while (node) {
        sum += node->value;
        node = key < node->key ? node->left : node->right;
    }
    return sum;
}

__attribute__((noinline)) long matrix(short *cells, long rows, long columns)
{
    long sum = 0;
    for (long column = 0; column < columns; column++)
        for (long row = 0; row < rows; row++)
            sum += cells[row * columns + column];
    return sum;
}

/* The page is chosen by the index, though the beginning of the array may be loaded in each round. */
__attribute__((noinline)) long field(struct node *node, long count)
{
    long sum = 0;
    for (long i = 0; i < count; i++)
        sum += node->values[i];
    return sum;
}

__attribute__((noinline)) long fields(struct node *node, long at)
{
    long sum = 0;
    for (; node; node = node->next)
        sum += node->values[at];
    return sum;
}

__attribute__((noinline)) long gather(short *values, int *indices, long count)
{
    long sum = 0;
    for (long i = 0; i < count; i++)
        sum += values[indices[i]];
    return sum;
}

__attribute__((noinline)) long called(struct node *node)
{
    return node->value;
}

/* A caller that hands on what it loaded, and one that hands on what it computed. */
__attribute__((noinline)) long hands_loaded(struct node *node)
{
    long sum = 0;
    for (; node; node = node->next)
        sum += called(node);
    return sum;
}

__attribute__((noinline)) long hands_computed(struct node *nodes, long count)
{
    long sum = 0;
    for (long i = 0; i < count; i++)
        sum += called(&nodes[i]);
    return sum;
}

/* A table that was loaded: the hash chooses the page. */
struct table {
    short *slots;
    uint64_t mask;
};

__attribute__((noinline)) long slot(struct table *table, uint64_t *key)
{
    return table->slots[(*key * 6364136223846793005u >> 33) & table->mask];
}

/* Variables of the program: a pointer, and an array. */
struct node *volatile first;
short numbers[4096];

__attribute__((noinline)) long variable(void)
{
    return first->value;
}

__attribute__((noinline)) long fixed(void)
{
    return numbers[77];
}

/* Calls another function that calls in turn, and may be gone by then. */
__attribute__((noinline)) long forwards(struct node *node)
{
    return called(node->next);
}

__attribute__((noinline)) long hands_to_another(struct node *nodes, long count)
{
    long sum = 0;
    for (long i = 0; i < count; i++)
        sum += forwards(&nodes[i]);
    return sum;
}

int main(void)
{
    return 0;
}
