// The main thread writes, and all others read what it has written, each through a copy of its own.
// RUN: %remote %S/Inputs/copies.toml %s -pthread
// RUN: farside-cc -O2 -g -Rfarside -fsections=%S/Inputs/copies.toml %s -pthread -o %t 2>&1 | FileCheck %s --implicit-check-not="several threads may use"
// CHECK-DAG: remark: what is allocated here goes to the section 'table'
// CHECK-DAG: remark: what is allocated here goes to the section 'table'
// CHECK-DAG: remark: what is allocated here goes to the section 'nodes'
// CHECK-DAG: remark: what is allocated here goes to the section 'text'
// RUN: llvm-readelf --string-dump=.farside.notes %t | FileCheck %s --check-prefix=NOTES
// NOTES: "copies":true,"function":"{{[^"]*}}","line":{{[0-9]+}},"place":"{{[^"]*}}","section":"table","ways":2
// RUN: rm -f %t.mlir
// RUN: farside-cc -O2 -g -ffarside-whole-program -fsections=%S/Inputs/copies.toml %s -pthread -emit-rmem -o %t.mlir
// RUN: FileCheck %s --check-prefix=RMEM --input-file=%t.mlir
// RMEM: rmem.cache_section @rmem.section.table capacity 4096 line 128 ways 2 ahead 8 copies
// Copies of a set each, and so small that most of what is read is not there.
// RUN: env LEVELS=-O2 LOCAL=1100K %remote %S/Inputs/copies.toml %s -pthread
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { readers = 3, count = 6000, phases = 5, published = 3000, rounds = 40 };

struct node {
  struct node *next;
  long value, more;
};

static long *table;
static unsigned *places;
static size_t room;
static struct node *list;
static char *text;
static unsigned long results[readers][phases + 4];

static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static long turn;
static atomic_long last;
static int door;

static __attribute__((noinline)) void make_table(void) {
  room = count;
  table = malloc(room * sizeof *table);
  places = calloc(count, sizeof *places);
  for (long i = 0; i < count; i++) {
    table[i] = i * 7;
    places[i] = (unsigned)(i * 7919 % count);
  }
}

// What was read of the old one is stale, and so is what was read of where the new one is.
static __attribute__((noinline)) void grow(void) {
  room += count / 3;
  long *more = malloc(room * sizeof *more);
  memcpy(more, table, (room - count / 3) * sizeof *more);
  for (size_t i = room - count / 3; i < room; i++)
    more[i] = (long)i * 11;
  free(table);
  table = more;
}

static __attribute__((noinline)) void push(long value) {
  struct node *node = malloc(sizeof *node);
  node->value = value;
  node->more = value ^ 5;
  node->next = list;
  list = node;
}

static __attribute__((noinline)) void drop(void) {
  for (int i = 0; list && i < 200; i++) {
    struct node *next = list->next;
    free(list);
    list = next;
  }
}

static __attribute__((noinline)) void make_text(void) {
  text = malloc(5000);
  for (int i = 0; i < 4999; i++)
    text[i] = (char)('a' + i % 26);
  text[4999] = 0;
}

static __attribute__((noinline)) void change(long phase) {
  // Held, in a known order, and here and there.
  for (size_t i = 0; i < room; i++)
    table[i] += phase;
  for (size_t i = 0; i < room; i += 37)
    table[i * 31 % room] ^= phase << 20;
  for (struct node *node = list; node; node = node->next) {
    node->value += phase;
    node->more += node->value;
  }
  text[phase * 700] = '\n';
}

static __attribute__((noinline)) unsigned long sum(const long *all, size_t size) {
  unsigned long h = 0;
  for (size_t i = 0; i < size; i++)
    h += (unsigned long)all[i] ^ i;
  return h;
}

static __attribute__((noinline)) unsigned long indirect(void) {
  unsigned long h = 0;
  for (long i = 0; i < count; i++)
    h = h * 3 + (unsigned long)table[places[i]];
  return h;
}

static __attribute__((noinline)) unsigned long dependent(unsigned long h) {
  for (long i = 0; i < 3000; i++)
    h = h * 6364136223846793005u + (unsigned long)table[(h >> 33) % room];
  return h;
}

static __attribute__((noinline)) unsigned long chase(void) {
  unsigned long h = 0;
  for (const struct node *node = list; node; node = node->next)
    h = h * 31 + (unsigned long)(node->value ^ node->more);
  return h;
}

static __attribute__((noinline)) unsigned long read_all(long k) {
  return sum(table, room) * 5 + indirect() * 3 + dependent((unsigned long)k) + chase() + strlen(text) +
         (unsigned long)(strcmp(text, "abcdefghijklmnopqrstuvwxyzabd") < 0);
}

// Nothing of a section is used where the thread waits.
static __attribute__((noinline)) void wait_for(long phase) {
  pthread_mutex_lock(&mutex);
  while (turn < phase)
    pthread_cond_wait(&turned, &mutex);
  pthread_mutex_unlock(&mutex);
}

static __attribute__((noinline)) unsigned long follow(void) {
  unsigned long h = 0;
  // One after the other, in lines of which other parts were read before.
  for (long at = 1; at <= published; at++) {
    while (atomic_load_explicit(&last, memory_order_acquire) < at)
      ;
    h += table[at] != at * 13;
  }
  return h;
}

static __attribute__((noinline)) unsigned long look(void) {
  unsigned long wrong = 0;
  for (int round = 0; round < rounds; round++) {
    pthread_mutex_lock(&mutex);
    long all = table[0];
    for (long i = 1; i < 500; i++)
      wrong += table[i] != all;
    pthread_mutex_unlock(&mutex);
  }
  return wrong;
}

// Without a call where the thread waits, and without an access where it is told.
static __attribute__((noinline)) unsigned long knock(void) {
  unsigned long h = (unsigned long)table[7];
  while (!__atomic_load_n(&door, __ATOMIC_RELAXED))
    ;
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return h * 100 + (unsigned long)table[7];
}

static void *work(void *which) {
  long k = (long)which;
  for (long phase = 0; phase < phases; phase++) {
    if (phase % 2)
      wait_for(phase);
    else
      pthread_barrier_wait(&barrier);
    results[k][phase] = read_all(k);
    pthread_barrier_wait(&barrier);
  }
  results[k][phases] = follow();
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  results[k][phases + 1] = look();
  pthread_barrier_wait(&barrier);
  results[k][phases + 2] = knock();
  return NULL;
}

static __attribute__((noinline)) void publish(void) {
  for (long at = 1; at <= published; at++) {
    table[at] = at * 13;
    atomic_store_explicit(&last, at, memory_order_release);
  }
}

static __attribute__((noinline)) void set_all(long to) {
  for (long i = 0; i < 500; i++)
    table[i] = to;
}

int main(void) {
  pthread_t ids[readers];
  pthread_barrier_init(&barrier, NULL, readers + 1);
  make_table();
  make_text();
  for (long i = 0; i < 900; i++)
    push(i * i);
  for (long i = 0; i < readers; i++)
    if (pthread_create(&ids[i], NULL, work, (void *)i))
      return 1;
  for (long phase = 0; phase < phases; phase++) {
    change(phase);
    if (phase == 2)
      grow();
    if (phase == 3) {
      drop();
      for (long i = 0; i < 100; i++)
        push(i - 50);
    }
    if (phase % 2) {
      pthread_mutex_lock(&mutex);
      turn = phase;
      pthread_cond_broadcast(&turned);
      pthread_mutex_unlock(&mutex);
    } else {
      pthread_barrier_wait(&barrier);
    }
    printf("main %lu\n", read_all(99));
    pthread_barrier_wait(&barrier);
  }
  publish();
  pthread_barrier_wait(&barrier);
  set_all(1);
  pthread_barrier_wait(&barrier);
  for (int round = 0; round < rounds; round++) {
    pthread_mutex_lock(&mutex);
    set_all(round + 2);
    pthread_mutex_unlock(&mutex);
  }
  pthread_barrier_wait(&barrier);
  table[7] = 5;
  __atomic_thread_fence(__ATOMIC_RELEASE);
  __atomic_store_n(&door, 1, __ATOMIC_RELAXED);
  for (long i = 0; i < readers; i++)
    pthread_join(ids[i], NULL);
  for (long i = 0; i < readers; i++) {
    for (int j = 0; j < phases + 2; j++)
      printf("%lu ", results[i][j]);
    printf("%lu\n", results[i][phases + 2] % 100);
  }
  return 0;
}
