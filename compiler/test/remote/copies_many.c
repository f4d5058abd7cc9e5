// Threads give back their copies, however they end, and one for whose copy there is no room reads the same.
// RUN: env LEVELS=-O2 %remote %S/Inputs/copies_many.toml %s -pthread
// RUN: farside-cc -O2 -g -fsections=%S/Inputs/copies_many.toml %s -pthread -o %t
// RUN: %t 300 1 exit > %t.exit
// RUN: %t 40 40 return > %t.return
// RUN: %t 20 5 cancel > %t.cancel
// RUN: %t 280 280 return > %t.all
// RUN: %if farside %{ %farside run --local 8M -- %t 300 1 exit | diff %t.exit - %}
// RUN: %if farside %{ %farside run --local 8M -- %t 40 40 return | diff %t.return - %}
// RUN: %if farside %{ %farside run --local 8M -- %t 20 5 cancel | diff %t.cancel - %}
// Most have a copy of one line, of which three are used at once.
// RUN: %if farside %{ %farside run --local 1300K -- %t 40 40 return 2> %t.said | diff %t.return - %}
// RUN: %if farside %{ FileCheck %s --input-file=%t.said --implicit-check-not="no section" %}
// CHECK: sections: {{[1-9]}}
// There are more of them than sections may have numbers.
// RUN: %if farside %{ %farside run --local 64M -- %t 280 280 return | diff %t.all - %}
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { words = 16 << 10, most = 300 };

static long *table;
static unsigned long results[most];
static pthread_barrier_t all_here;
static pthread_key_t key;
static const char *how;

static __attribute__((noinline)) void make(void) {
  table = malloc(words * sizeof *table);
  for (long i = 0; i < words; i++)
    table[i] = i * i;
}

static __attribute__((noinline)) unsigned long use(unsigned long h) {
  for (long i = 0; i < 2000; i++) {
    h = h * 6364136223846793005u + 1442695040888963407u;
    h ^= (unsigned long)table[(h >> 33) % words];
  }
  for (long i = 0; i + 8000 < words; i++)
    h += (unsigned long)(table[i] ^ table[i + 4000] ^ table[i + 8000]);
  return h + (unsigned long)memcmp(table, table + 1000, 8);
}

// Comes as late as it can, when the copy may be closed already.
static void late(void *passed) {
  long *left = passed;
  if (--left[1])
    pthread_setspecific(key, left);
  results[left[0]] ^= use((unsigned long)left[1]);
  if (!left[1])
    free(left);
}

static void *work(void *which) {
  long k = (long)which, *left = malloc(2 * sizeof *left);
  left[0] = k;
  left[1] = 4;
  pthread_setspecific(key, left);
  // All have one at the same time.
  results[k] = use((unsigned long)k);
  pthread_barrier_wait(&all_here);
  results[k] ^= use(results[k]);
  if (!strcmp(how, "exit"))
    pthread_exit(NULL);
  while (!strcmp(how, "cancel"))
    pause();
  return NULL;
}

int main(int argc, char **argv) {
  long count = argc > 3 ? atol(argv[1]) : 20, together = argc > 3 ? atol(argv[2]) : 10;
  how = argc > 3 ? argv[3] : "return";
  pthread_t ids[most];
  pthread_barrier_init(&all_here, NULL, (unsigned)together);
  pthread_key_create(&key, late);
  make();
  for (long k = 0; k < count; k += together) {
    for (long i = k; i < k + together; i++)
      if (pthread_create(&ids[i], NULL, work, (void *)i))
        return 1;
    for (long i = k; i < k + together; i++) {
      if (!strcmp(how, "cancel"))
        pthread_cancel(ids[i]);
      pthread_join(ids[i], NULL);
    }
    // Those that come later see it.
    table[k % words] += k;
  }
  unsigned long all = 0;
  for (long i = 0; i < count; i++)
    all = all * 31 + results[i];
  printf("%lu\n", all);
  return 0;
}
