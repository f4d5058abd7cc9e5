// Records that are used in no order, in a small section: what is sent for too early drives out what was sent for before.
// RUN: %remote %S/Inputs/early.toml %s
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct record {
  long count, sum;
  char rest[112];
};

enum { RECORDS = 50000, PAIRS = 150000 };

static struct record *new_records(void) { return calloc(RECORDS, sizeof(struct record)); }
static struct record **new_pairs(void) { return malloc(2 * PAIRS * sizeof(struct record *)); }

__attribute__((noinline)) static void join(struct record *const *pairs) {
  for (long i = 0; i < PAIRS; i++) {
    struct record *one = pairs[2 * i], *other = pairs[2 * i + 1];
    other->sum += one->sum ^ other->count;
    one->count++;
    other->count++;
  }
}

int main(void) {
  struct record *records = new_records();
  struct record **pairs = new_pairs();
  uint64_t state = 1, all = 0;
  for (long i = 0; i < 2 * PAIRS; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    pairs[i] = &records[(state >> 33) % RECORDS];
  }
  for (long i = 0; i < RECORDS; i++)
    records[i].sum = i % 101;
  join(pairs);
  for (long i = 0; i < RECORDS; i++)
    all = all * 33 + (uint64_t)(records[i].sum + records[i].count);
  printf("%lx\n", (unsigned long)all);
  free(pairs);
  free(records);
  return 0;
}
