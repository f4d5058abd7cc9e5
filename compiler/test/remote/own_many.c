// Threads give back what they have had, however they end, and one that gets no section has plain memory.
// RUN: env LEVELS=-O2 %remote %S/Inputs/own_many.toml %s -pthread
// RUN: farside-cc -O2 -g -fsections=%S/Inputs/own_many.toml %s -pthread -o %t
// RUN: %t 300 1 exit > %t.exit
// RUN: %t 40 40 return > %t.return
// RUN: %t 20 5 cancel > %t.cancel
// RUN: %t 280 280 return > %t.all
// RUN: %if farside %{ %farside run --local 8M -- %t 300 1 exit 2> %t.said | diff %t.exit - %}
// RUN: %if farside %{ FileCheck %s --input-file=%t.said --implicit-check-not="no section" %}
// CHECK: sections: {{[1-9]}}
// RUN: %if farside %{ %farside run --local 8M -- %t 40 40 return 2> %t.said | diff %t.return - %}
// RUN: %if farside %{ FileCheck %s --input-file=%t.said --implicit-check-not="no section" %}
// RUN: %if farside %{ %farside run --local 8M -- %t 20 5 cancel 2> %t.said | diff %t.cancel - %}
// RUN: %if farside %{ FileCheck %s --input-file=%t.said --implicit-check-not="no section" %}
// There is no room for so many, and there are no more numbers for them. It is told once.
// RUN: %if farside %{ %farside run --local 2M -- %t 40 40 return 2> %t.said | diff %t.return - %}
// RUN: %if farside %{ FileCheck %s --check-prefix=LITTLE --input-file=%t.said --implicit-check-not="no section" %}
// LITTLE: no section "scratch", its data is paged: {{.*}}
// RUN: %if farside %{ %farside run --local 64M -- %t 280 280 return 2> %t.said | diff %t.all - %}
// RUN: %if farside %{ FileCheck %s --check-prefix=NUMBERS --input-file=%t.said --implicit-check-not="no section" %}
// NUMBERS: no section "scratch", its data is paged: there are 255 sections already
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { words = 16 << 10, most = 300 };

static unsigned long results[most];
static pthread_barrier_t all_here;
static const char *how;

static __attribute__((noinline)) long *make(long k) {
  long *made = malloc(words * sizeof *made);
  for (long i = 0; i < words; i++)
    made[i] = i ^ k;
  return made;
}

static __attribute__((noinline)) unsigned long use(long *all, unsigned long h) {
  for (long i = 0; i < 2000; i++) {
    h = h * 6364136223846793005u + 1442695040888963407u;
    h ^= all[(h >> 33) % words]++;
  }
  return h;
}

static void *work(void *which) {
  long k = (long)which, *all = make(k);
  // All have one at the same time.
  pthread_barrier_wait(&all_here);
  results[k] = use(all, k);
  // Not everything is freed.
  if (k % 2)
    free(all);
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
  pthread_barrier_init(&all_here, NULL, together);
  for (long k = 0; k < count; k += together) {
    for (long i = k; i < k + together; i++)
      if (pthread_create(&ids[i], NULL, work, (void *)i))
        return 1;
    for (long i = k; i < k + together; i++) {
      if (!strcmp(how, "cancel"))
        pthread_cancel(ids[i]);
      pthread_join(ids[i], NULL);
    }
  }
  unsigned long all = 0;
  for (long i = 0; i < count; i++)
    all = all * 31 + results[i];
  printf("%lu\n", all);
  return 0;
}
