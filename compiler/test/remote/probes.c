// Where a search begins, in each turn of a loop, is sent for: in a table with open addresses, and in one of chains.
// RUN: %remote %S/Inputs/probes.toml %s
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct entry {
  uint64_t key, count;
};

struct link {
  struct link *next;
  uint64_t key, count;
};

enum { PLACES = 1 << 18, ENTRIES = 100000, CHAINS = 1 << 16, LINKS = 40000, TURNS = 200000 };

static struct entry *new_table(void) { return calloc(PLACES, sizeof(struct entry)); }
static struct link **new_chains(void) { return calloc(CHAINS, sizeof(struct link *)); }
static struct link *new_links(void) { return malloc(LINKS * sizeof(struct link)); }
static uint64_t *new_keys(void) { return malloc(TURNS * sizeof(uint64_t)); }

static uint64_t hash_of(uint64_t key) { return key * 0x9e3779b97f4a7c15u >> 46; }

static struct entry *find(struct entry *table, uint64_t key) {
  for (uint64_t at = hash_of(key);; at++) {
    struct entry *entry = &table[at % PLACES];
    if (entry->key == key || !entry->key)
      return entry;
  }
}

__attribute__((noinline)) static void fill(struct entry *table) {
  for (uint64_t key = 1; key <= ENTRIES; key++)
    find(table, key)->key = key;
}

__attribute__((noinline)) static void hang(struct link **chains, struct link *links) {
  for (uint64_t i = 0; i < LINKS; i++) {
    struct link *link = &links[i * 7919 % LINKS];
    struct link **chain = &chains[hash_of(i + 1) % CHAINS];
    link->key = i + 1;
    link->count = 0;
    link->next = *chain;
    *chain = link;
  }
}

__attribute__((noinline)) static uint64_t probe(struct entry *table, const uint64_t *keys, long count) {
  uint64_t all = 0;
  for (long i = 0; i < count; i++) {
    struct entry *entry = find(table, keys[i]);
    entry->count++;
    all = all * 3 + entry->count + entry->key;
  }
  return all;
}

__attribute__((noinline)) static uint64_t follow(struct link **chains, const uint64_t *keys, long count) {
  uint64_t all = 0;
  for (long i = 0; i < count; i++) {
    struct link *link = chains[hash_of(keys[i]) % CHAINS];
    while (link && link->key != keys[i])
      link = link->next;
    if (link)
      all = all * 5 + ++link->count;
  }
  return all;
}

// Its last search finds nothing, and what it looks into ends with the table.
__attribute__((noinline)) static long first_behind(const struct entry *table, const uint64_t *keys, long count) {
  long all = 0;
  for (long i = 0; i < count; i++) {
    long at = (long)(hash_of(keys[i]) % PLACES);
    while (at < PLACES && table[at].key && table[at].key < keys[i])
      at++;
    all = all * 7 + at;
  }
  return all;
}

int main(void) {
  struct entry *table = new_table();
  struct link **chains = new_chains(), *links = new_links();
  uint64_t *keys = new_keys(), state = 1;
  fill(table);
  hang(chains, links);
  for (long i = 0; i < TURNS; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    keys[i] = (state >> 33) % (ENTRIES + 1000) + 1;
  }
  printf("%lu\n", probe(table, keys, TURNS));
  printf("%lu\n", follow(chains, keys, TURNS));
  printf("%ld\n", first_behind(table, keys, TURNS / 10));
  free(keys);
  free(links);
  free(chains);
  free(table);
  return 0;
}
