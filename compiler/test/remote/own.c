// Each thread has sections of its own for what no other one comes to.
// RUN: %remote %S/Inputs/own.toml %s -pthread
// RUN: farside-cc -O2 -g -Rfarside -fsections=%S/Inputs/own.toml %s -pthread -o %t 2>&1 | FileCheck %s
// CHECK-DAG: remark: what is allocated here goes to the section 'common'
// CHECK-DAG: remark: what is allocated here goes to the section 'tables'
// CHECK-DAG: remark: what is allocated here goes to the section 'tables'
// CHECK-DAG: remark: what is allocated here goes to the section 'rows'
// CHECK-DAG: remark: what is allocated here goes to the section 'lists'
// CHECK: no fields of the section 'tables' are selected: '{{.*}}' may be called from elsewhere, by another thread
// CHECK-NOT: several threads may use the section '{{tables|lists|rows}}'
// CHECK: several threads may use the section 'common'
// CHECK-NOT: several threads may use
// RUN: llvm-readelf --string-dump=.farside.notes %t | FileCheck %s --check-prefix=NOTES
// NOTES: "own":true,"place":"{{[^"]*}}","section":"tables","ways":2
// RUN: rm -f %t.mlir
// RUN: farside-cc -O2 -g -fsections=%S/Inputs/own.toml %s -pthread -emit-rmem -o %t.mlir
// RUN: FileCheck %s --check-prefix=RMEM --input-file=%t.mlir
// RMEM: rmem.cache_section @rmem.section.tables capacity 16384 line 128 ways 2 ahead 8 own
// They are opened before a function that uses them begins, and nothing of them is looked up where that happens.
// RUN: farside-cc -O2 -fsections=%S/Inputs/own.toml %s -S -emit-llvm -o - | FileCheck %s --check-prefix=LLVM
// LLVM-DAG: @farside.section.tables = linkonce_odr hidden thread_local global
// LLVM-DAG: @farside.section.common = linkonce_odr hidden global
// LLVM-LABEL: define {{.*}} @use_all(
// LLVM: call {{.*}}@farside.settle(i64 7)
// LLVM: musttail call {{.*}}@use_all.remote({{.*}}) #[[NOINLINE:[0-9]+]]
// LLVM: attributes #[[NOINLINE]] = {{.*}}noinline
// In places of their own.
// RUN: farside-cc -O2 -fPIC -fno-farside-link -fsections=%S/Inputs/own.toml %s -pthread -o %t.apart
// RUN: clang -O2 %s -pthread -o %t.clang
// RUN: %t.clang > %t.expected
// RUN: %t.apart | diff %t.expected -
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { at_once = 6, count = 4000 };

struct node {
  struct node *next;
  long value;
};

// Of each thread.
static __thread long *table;
static __thread size_t room;
static __thread struct node *list;

static long *common;
static unsigned long results[at_once + 1];
static pthread_key_t last;

static void make_common(void) {
  common = malloc(count * sizeof *common);
  for (long i = 0; i < count; i++)
    common[i] = i * 3;
}

static __attribute__((noinline)) void make_table(size_t size) {
  room = size;
  table = calloc(size, sizeof *table);
}

static __attribute__((noinline)) void grow(size_t size) {
  long *more = realloc(table, size * sizeof *more);
  if (!more)
    exit(3);
  for (size_t i = room; i < size; i++)
    more[i] = (long)i;
  table = more;
  room = size;
}

static __attribute__((noinline)) void push(long value) {
  struct node *node = malloc(sizeof *node);
  node->value = value;
  node->next = list;
  list = node;
}

static __attribute__((noinline)) unsigned long sums_of_rows(long k) {
  // No variable leads to it.
  long (*rows)[16] = malloc(200 * sizeof *rows);
  unsigned long all = 0;
  for (long i = 0; i < 200; i++)
    for (long j = 0; j < 16; j++)
      rows[i][j] = i * j + k;
  for (long j = 0; j < 16; j++)
    for (long i = 0; i < 200; i++)
      all = all * 31 + rows[i][j];
  free(rows);
  return all;
}

static __attribute__((noinline)) unsigned long probe(unsigned long h) {
  for (long i = 0; i < count; i++) {
    h = h * 6364136223846793005u + 1442695040888963407u;
    h ^= table[(h >> 33) % room]++ + common[h % count];
    if (i % 16 == 0)
      push((long)h);
  }
  return h;
}

static __attribute__((noinline)) unsigned long use_all(long k) {
  make_table(count);
  unsigned long h = probe(k);
  grow(2 * count);
  h = probe(h) ^ sums_of_rows(k);
  for (struct node *node = list; node; node = node->next)
    h = h * 7 + node->value;
  return h;
}

// Comes after the thread's function, and frees what that has left.
static void end(void *which) {
  long k = (long)which;
  unsigned long h = 0;
  for (struct node *next; list; list = next) {
    next = list->next;
    h = h * 5 + list->value;
    free(list);
  }
  results[k] ^= h ^ table[k];
}

static void *work(void *which) {
  long k = (long)which;
  pthread_setspecific(last, which);
  results[k] = use_all(k);
  if (k % 3 == 0)
    pthread_exit(NULL);
  return NULL;
}

int main(void) {
  pthread_t ids[at_once];
  make_common();
  if (pthread_key_create(&last, end))
    return 1;
  for (long i = 0; i < at_once; i++)
    if (pthread_create(&ids[i], NULL, work, (void *)(i + 1)))
      return 1;
  results[0] = use_all(0);
  for (long i = 0; i < at_once; i++)
    pthread_join(ids[i], NULL);
  end(0);
  for (long i = 0; i <= at_once; i++)
    printf("%lu\n", results[i]);
  return 0;
}
