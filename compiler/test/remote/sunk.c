// What is read or written in one of several sections, by the way that control took, does not join them, though what optimizes
// makes one access of it.
// RUN: %remote %S/Inputs/sunk.toml %s
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct item {
  struct item *next;
  long value;
};

struct owner {
  long number;
  struct item *items;
};

enum { OWNERS = 3000, ITEMS = 9000, NUMBERS = 20000 };

static struct owner *new_owners(void) { return calloc(OWNERS, sizeof(struct owner)); }
static struct item *new_items(void) { return calloc(ITEMS, sizeof(struct item)); }
static long *new_evens(void) { return calloc(NUMBERS, sizeof(long)); }
static long *new_odds(void) { return calloc(NUMBERS, sizeof(long)); }

static struct item *first;

// A list that begins in a record of another kind.
__attribute__((noinline)) static long sum_of(const struct owner *owner) {
  long sum = 0;
  for (const struct item *item = owner->items; item; item = item->next)
    sum = sum * 3 + item->value;
  return sum;
}

// One that begins in a variable.
__attribute__((noinline)) static long count(void) {
  long count = 0;
  for (const struct item *item = first; item; item = item->next)
    count++;
  return count;
}

// To insert at the end, by the address of what leads there.
__attribute__((noinline)) static void append(struct owner *owner, struct item *item) {
  if (!owner->items) {
    owner->items = item;
  } else {
    struct item *last = owner->items;
    while (last->next)
      last = last->next;
    last->next = item;
  }
}

__attribute__((noinline)) static void put(long *evens, long *odds, const uint32_t *at, long turns) {
  for (long i = 0; i < turns; i++)
    if (at[i] & 1)
      odds[at[i] >> 1] = i;
    else
      evens[at[i] >> 1] = i * 5;
}

__attribute__((noinline)) static long get(const long *evens, const long *odds, const uint32_t *at, long turns) {
  long all = 0;
  for (long i = 0; i < turns; i++)
    all = all * 7 + (at[i] & 1 ? odds[at[i] >> 1] : evens[at[i] >> 1]);
  return all;
}

__attribute__((noinline)) static void raise(long *evens, long *odds, const uint32_t *at, long turns) {
  for (long i = 0; i < turns; i++)
    if (at[i] & 4)
      odds[at[i] >> 1] += i;
    else
      evens[at[i] >> 2]++;
}

__attribute__((noinline)) static long either(const long *one, const long *other, int which) {
  return *(which ? one : other);
}

int main(void) {
  static uint32_t at[NUMBERS];
  struct owner *owners = new_owners();
  struct item *items = new_items();
  long *evens = new_evens(), *odds = new_odds();
  uint64_t state = 1;
  for (long i = 0; i < ITEMS; i++) {
    items[i].value = i;
    append(&owners[i * 31 % OWNERS], &items[i]);
  }
  first = owners[7].items;
  long all = 0;
  for (long i = 0; i < OWNERS; i++)
    all = all * 11 + sum_of(&owners[i]);
  printf("%ld %ld\n", all, count());
  for (long i = 0; i < NUMBERS; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    at[i] = (uint32_t)(state >> 33) % (2 * NUMBERS);
  }
  put(evens, odds, at, NUMBERS);
  raise(evens, odds, at, NUMBERS);
  printf("%ld\n", get(evens, odds, at, NUMBERS));
  for (long i = 0; i < NUMBERS; i += 97)
    all = all * 13 + either(&evens[i], &odds[i], at[i] & 2);
  printf("%ld\n", all);
  free(odds);
  free(evens);
  free(items);
  free(owners);
  return 0;
}
