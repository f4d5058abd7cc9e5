// What asks for an alignment has it, in sections as elsewhere; what cannot be given is refused as it always is.
// RUN: %remote %S/Inputs/aligned.toml %s
// RUN: %remote %S/Inputs/aligned.toml %s -mavx2
// RUN: farside-cc -O2 -c -Rfarside -fno-farside-link -fsections=%S/Inputs/aligned.toml %s -o %t.o 2>&1 | FileCheck %s
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
  _Alignas(64) float values[16];
};

__attribute__((noinline)) static struct row *rows_of(long count) {
  // CHECK-DAG: aligned.c:[[@LINE+1]]: remark: what is allocated here goes to the section 'short'
  return aligned_alloc(64, count * sizeof(struct row));
}

// Rows are read in vectors, for which the machine wants them where they are said to be.
__attribute__((noinline)) static float sum_of_rows(long count) {
  struct row *rows = rows_of(count), *copies = rows_of(count);
  for (long i = 0; i < count; i++)
    for (long j = 0; j < 16; j++)
      rows[i].values[j] = (float)((i * 31 + j) % 97);
  for (long i = 0; i < count; i++)
    copies[i] = rows[(i * 7) % count];
  float sums[16] = {0}, sum = 0;
  for (long i = 0; i < count; i++)
    for (long j = 0; j < 16; j++)
      sums[j] += copies[i].values[j];
  for (long j = 0; j < 16; j++)
    sum += sums[j];
  free(rows), free(copies);
  return sum;
}

// An alignment that is known only at run time.
__attribute__((noinline)) static unsigned char *of_any(size_t alignment, size_t size) {
  // CHECK-DAG: aligned.c:[[@LINE+1]]: remark: what is allocated here goes to the section 'any'
  return memalign(alignment, size);
}

static void ask_for(size_t alignment, size_t size) {
  errno = 0;
  unsigned char *block = of_any(alignment, size);
  if (!block) {
    printf("no %zu bytes at %zu: %s\n", size, alignment, strerror(errno));
    return;
  }
  for (size_t i = 0; i < size; i += 13)
    block[i] = (unsigned char)(i + alignment);
  unsigned long sum = 0;
  for (size_t i = 0; i < size; i += 13)
    sum = sum * 3 + block[i];
  printf("%zu bytes at %zu: %lu, %lu, %lu, %lu\n", size, alignment, sum, (uintptr_t)block & 15,
         alignment >= 256 ? (uintptr_t)block & 255 : 0, alignment >= 4096 ? (uintptr_t)block & 4095 : 0);
  // It need not be where it was.
  block = realloc(block, size * 2 + 1);
  for (size_t i = 0; i < size; i += 13)
    sum = sum * 3 + block[i];
  printf("%lu\n", sum);
  free(block);
}

static double *table;
__attribute__((noinline)) static int table_of(size_t alignment, size_t count) {
  // CHECK-DAG: aligned.c:[[@LINE+1]]: remark: what is allocated here goes to the section 'stored'
  return posix_memalign((void **)&table, alignment, count * sizeof *table);
}

__attribute__((noinline)) static int stored_in(void **place, size_t alignment, size_t size) {
  // CHECK-DAG: aligned.c:[[@LINE+1]]: remark: what is allocated here goes to the section 'stored'
  return posix_memalign(place, alignment, size);
}

static void store(size_t alignment, size_t count) {
  table = NULL;
  int failed = table_of(alignment, count);
  printf("table of %zu at %zu: %s %d\n", count, alignment, strerror(failed), table != NULL);
  if (failed)
    return;
  for (size_t i = 0; i < count; i++)
    table[i] = (double)(i * alignment);
  double sum = 0;
  for (size_t i = 0; i < count; i++)
    sum += table[count - 1 - i];
  printf("%g %lu\n", sum, (uintptr_t)table & 63);
  free(table);
  // Variables keep what they had if it fails.
  long *other = NULL, own = 77, *kept = &own;
  failed = stored_in((void **)&other, 128, count * sizeof *other);
  for (size_t i = 0; !failed && i < count; i++)
    other[i] = (long)i;
  printf("%d %d %ld", failed, stored_in((void **)&kept, 24, 64), *kept);
  printf(" %ld\n", other[count - 1]);
  free(other);
}

// posix_memalign() cannot store to what is in a section: that stays. What it allocates need not.
struct node {
  long number;
  long *data;
};
__attribute__((noinline)) static struct node *node_of(long number) {
  // CHECK-DAG: aligned.c:[[@LINE+1]]: remark: {{.*}} does not go to the section 'nodes': posix_memalign() stores a pointer in it ({{.*}}aligned.c:[[@LINE+6]])
  struct node *node = malloc(sizeof *node);
  node->number = number;
  return node;
}
__attribute__((noinline)) static void fill_node(struct node *node) {
  if (posix_memalign((void **)&node->data, 32, 100 * sizeof(long))) // CHECK-DAG: aligned.c:[[@LINE]]: remark: {{.*}} goes to the section 'held'
    abort();
  for (long i = 0; i < 100; i++)
    node->data[i] = node->number * i;
}

int main(void) {
  printf("%g\n", sum_of_rows(3000));
  static const size_t alignments[] = {1, 2, 4, 8, 16, 32, 64, 128, 1024, 4096, 65536, 131072, 1 << 20};
  for (unsigned i = 0; i < sizeof alignments / sizeof *alignments; i++)
    for (size_t size = 1; size < 70000; size = size * 9 + 5)
      ask_for(alignments[i], size);
  ask_for(64, (size_t)1 << 60);
  ask_for(16, 0);
  static const size_t others[] = {8, 16, 256, 8192, 65536, 1 << 18, 0, 4, 24, 100};
  for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
    store(others[i], 3000);
  store(64, (size_t)1 << 57);
  struct node *nodes[50];
  long sum = 0;
  for (long i = 0; i < 50; i++)
    fill_node(nodes[i] = node_of(i));
  for (long i = 0; i < 50; i++) {
    sum = sum * 5 + nodes[i]->data[i] + ((uintptr_t)nodes[i]->data & 31);
    free(nodes[i]->data), free(nodes[i]);
  }
  printf("%ld\n", sum);
}
