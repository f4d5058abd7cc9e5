// What later turns of a loop come to is sent for, by indices, over several levels, and record by record.
// RUN: %remote %S/Inputs/indirect.toml %s
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct record {
  long value, other;
  long rest[14];
};

enum { RECORDS = 40000, TURNS = 60000 };

static struct record *new_records(void) { return calloc(RECORDS, sizeof(struct record)); }
static uint32_t *new_indices(long count) { return malloc(count * sizeof(uint32_t)); }

static uint64_t state = 1;
static uint32_t draw(uint32_t most) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (state >> 33) % most;
}

__attribute__((noinline)) static void fill(struct record *records) {
  for (long i = 0; i < RECORDS; i++) {
    records[i].value = i * 7 % 101;
    records[i].other = draw(RECORDS);
  }
}

__attribute__((noinline)) static long each(const struct record *records, long count) {
  long all = 0;
  for (long i = 0; i < count; i++)
    all = all * 3 + (records[i].value ^ records[i].other);
  return all;
}

__attribute__((noinline)) static void by_index(struct record *records, const uint32_t *indices, long count) {
  for (long i = 0; i < count; i++)
    records[indices[i]].value += i;
}

__attribute__((noinline)) static long levels(const struct record *records, const uint32_t *indices, long count) {
  long all = 0;
  for (long i = 0; i < count; i++)
    all = all * 5 + records[records[indices[i]].other].value;
  return all;
}

// Behind what the loop has come to there are no indices yet, but any numbers.
__attribute__((noinline)) static long made_up(const struct record *records, uint32_t *indices, long count) {
  long all = 0;
  uint32_t last = 17;
  for (long i = 0; i < count; i++) {
    indices[i] = last;
    all = all * 7 + records[indices[i]].value;
    last = (last * 7919 + all % 13) % RECORDS;
  }
  return all;
}

// Some numbers are no indices, and are not followed.
__attribute__((noinline)) static long guarded(const struct record *records, const uint32_t *indices, long count) {
  long all = 0;
  for (long i = 0; i < count; i++)
    if (indices[i] < RECORDS && records[indices[i]].other < RECORDS)
      all = all * 3 + records[records[indices[i]].other].value;
  return all;
}

// With a step that nobody knows beforehand, and loops in the loop.
__attribute__((noinline)) static long steps(const struct record *records, long step, long count) {
  long all = 0;
  for (long i = 0; i < count / step; i++) {
    long value = records[i * step].value;
    for (int turn = 0; turn < 4; turn++)
      value = value * 31 + records[(i * step + turn * 977) % RECORDS].other;
    all += value;
  }
  return all;
}

int main(void) {
  struct record *records = new_records();
  uint32_t *indices = new_indices(TURNS), *others = new_indices(TURNS);
  fill(records);
  printf("%ld\n", each(records, RECORDS));
  for (long i = 0; i < TURNS; i++)
    indices[i] = draw(RECORDS);
  by_index(records, indices, TURNS);
  printf("%ld\n", each(records, RECORDS));
  printf("%ld\n", levels(records, indices, TURNS));
  for (long i = 0; i < TURNS; i++)
    others[i] = draw(3) ? draw(RECORDS) : 0x80000000u + draw(1u << 31);
  printf("%ld\n", guarded(records, others, TURNS));
  printf("%ld\n", made_up(records, others, TURNS));
  printf("%ld\n", steps(records, records[5].other % 3 + 2, RECORDS));
  free(indices);
  free(others);
  free(records);
  return 0;
}
