// Threads that call functions which run where their data is, while others write beside what these read.
// RUN: env FARSIDE_OFFLOAD=always %remote %S/Inputs/offload_threads.toml %s -pthread
// RUN: env FARSIDE_OFFLOAD=auto LEVELS=-O2 %remote %S/Inputs/offload_threads.toml %s -pthread
// RUN: farside-cc -O2 -g -Rfarside -fsections=%S/Inputs/offload_threads.toml %s -pthread -o %t 2>&1 | FileCheck %s
// CHECK: remark: function 'sum' can run where its data is
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { threads = 4, count = 40000, rounds = 12 };

// Two numbers of each thread lie side by side, so that lines are everybody's.
struct pair {
  long read, written;
};
static struct pair *pairs;

static long sum(long first) {
  long all = 0;
  for (long i = first; i < count; i += threads)
    all = all * 3 + pairs[i].read;
  return all;
}

static void *work(void *argument) {
  const long self = (long)argument;
  long all = 0;
  for (long round = 0; round < rounds; round++) {
    all += sum(self) ^ round;
    for (long i = self; i < count; i += threads) {
      pairs[i].written += round;
      // What the next call of this thread reads.
      if (i % 7 == round % 7)
        pairs[i].read += self + pairs[i].written;
    }
  }
  return (void *)all;
}

int main(void) {
  pthread_t ids[threads];
  pairs = calloc(count, sizeof *pairs);
  for (long i = 0; i < count; i++)
    pairs[i].read = i * 31 % 101;
  for (long i = 0; i < threads; i++)
    if (pthread_create(&ids[i], NULL, work, (void *)i))
      return 1;
  for (long i = 0; i < threads; i++) {
    void *result;
    pthread_join(ids[i], &result);
    printf("%ld\n", (long)result);
  }
  free(pairs);
  return 0;
}
