// Sums, matrices, elements that lie across the ends of lines, copies, and blocks that grow.
// RUN: %remote %S/Inputs/arrays.toml %s
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 150

struct odd {
  uint16_t small;
  uint64_t large;
  uint8_t last;
} __attribute__((packed));

static double *matrix(void) { return malloc(N * N * sizeof(double)); }
static struct odd *records(size_t count) { return calloc(count, sizeof(struct odd)); }
static int32_t *list(int32_t *old, size_t count) { return realloc(old, count * sizeof *old); }

static double multiply(void) {
  double *a = matrix(), *b = matrix(), *c = matrix(), trace = 0;
  for (int i = 0; i < N * N; i++)
    a[i] = i % 17, b[i] = i % 23;
  memset(c, 0, N * N * sizeof *c);
  for (int i = 0; i < N; i++)
    for (int k = 0; k < N; k++)
      for (int j = 0; j < N; j++)
        c[i * N + j] += a[i * N + k] * b[k * N + j];
  for (int i = 0; i < N; i++)
    trace += c[i * N + i] + c[i];
  free(a), free(b), free(c);
  return trace;
}

static uint64_t packed(size_t count) {
  struct odd *all = records(count), copy;
  uint64_t sum = 0;
  for (size_t i = 0; i < count; i++) {
    all[i].small += i;
    all[i].large = i * 0x123456789abcull;
    all[i].last = i;
  }
  for (size_t i = count; i-- > 0;) {
    copy = all[i];
    sum = sum * 31 + copy.small + copy.large + copy.last + all[i].large;
  }
  memmove(all + 1, all, (count - 1) * sizeof *all);
  memcpy(all, all + count / 2, count / 4 * sizeof *all);
  for (size_t i = 0; i < count; i += 3)
    sum = sum * 31 + all[i].large;
  free(all);
  return sum;
}

static int64_t growing(void) {
  int32_t *all = list(NULL, 10);
  size_t room = 10, count = 0;
  int64_t sum = 0;
  for (int i = 0; i < 30000; i++) {
    if (count == room)
      all = list(all, room *= 2);
    all[count++] = i * 7;
  }
  for (size_t i = 0; i < count; i++)
    sum += all[i] ^ (int64_t)i;
  // Pointers count as well as numbers, and there may be none.
  for (int32_t *at = all; at != all + count; ++at)
    sum -= *at % 5;
  free(all);
  free(NULL);
  return sum;
}

int main(void) {
  printf("%.1f\n", multiply());
  printf("%llu\n", (unsigned long long)packed(20000));
  printf("%lld\n", (long long)growing());
  return 0;
}
