/*
 * A hash table that is probed: `table ENTRIES PROBES`, ENTRIES a power of two. Half of it is filled. Keys by chance are looked
 * up, half as many as PROBES to warm up, and then, which is measured, PROBES; every other one is there.
 */
#include "part.h"

struct entry {
    uint64_t key, value;
};

static struct entry *table;
static size_t mask;

static uint64_t key_of(uint64_t i) {
    uint64_t state = i * 2 + 1;
    return draw(&state) | 1;
}

/* A key lies at the place it names, or at the next free one. */
static struct entry *find(struct entry *entries, uint64_t key) {
    size_t at = key >> 16 & mask;
    while (entries[at].key != 0 && entries[at].key != key) at = (at + 1) & mask;
    return &entries[at];
}

static uint64_t probe(uint64_t probes, uint64_t keys, uint64_t *state) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < probes; i++) sum = sum * 31 + find(table, key_of(draw_below(state, 2 * keys)))->value;
    return sum;
}

int main(int count, char **arguments) {
    const size_t entries = number(count, arguments, 1);
    const uint64_t probes = number(count, arguments, 2), keys = entries / 2;
    if (entries < 2 || entries & (entries - 1)) fail("not a power of two");
    mask = entries - 1;
    struct entry *draft = local_memory(entries * sizeof *draft);
    for (uint64_t i = 0; i < keys; i++) *find(draft, key_of(i)) = (struct entry){ key_of(i), i };
    table = allocate(entries * sizeof *table);
    memcpy(table, draft, entries * sizeof *table);
    free_local(draft, entries * sizeof *draft);
    uint64_t state = 1, sum = probe(probes / 2, keys, &state);
    const double begin = begin_part();
    sum += probe(probes, keys, &state);
    end_part(begin);
    printf("%016llx\n", (unsigned long long)sum);
    return 0;
}
