// Children of the main thread and of one that reads: each has what there was when it was forked.
// RUN: env LEVELS=-O2 %remote %S/Inputs/copies_fork.toml %s -pthread
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { count = 4000 };

static long *table;
static volatile size_t size = count;
static pthread_barrier_t barrier;

static __attribute__((noinline)) void make(void) {
  table = malloc(size * sizeof *table);
  for (long i = 0; i < count; i++)
    table[i] = i * 3;
}

static __attribute__((noinline)) void change(long by) {
  for (long i = 0; i < count; i++)
    table[i] += by * i;
}

static __attribute__((noinline)) unsigned long use(unsigned long h) {
  for (long i = 0; i < 5000; i++)
    h = h * 6364136223846793005u + (unsigned long)table[(h >> 33) % count];
  for (long i = 0; i < count; i++)
    h += (unsigned long)table[i];
  return h;
}

static void *work(void *which) { return (void *)use((unsigned long)which); }

static unsigned long in_thread(unsigned long h) {
  pthread_t id;
  void *result;
  if (pthread_create(&id, NULL, work, (void *)h) || pthread_join(id, &result))
    exit(1);
  return (unsigned long)result;
}

static void *reading(void *which) {
  unsigned long h = use((unsigned long)which);
  pthread_barrier_wait(&barrier);
  fflush(stdout);
  pid_t child = fork();
  if (!child) {
    printf("child of a thread %lu\n", use(h));
    fflush(stdout);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  return (void *)use(h);
}

int main(void) {
  pthread_t id;
  void *result;
  make();
  pthread_barrier_init(&barrier, NULL, 2);
  if (pthread_create(&id, NULL, reading, (void *)5))
    return 1;
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  change(2);
  fflush(stdout);
  pid_t child = fork();
  if (!child) {
    change(9);
    printf("child of main %lu\n", use(1));
    printf("its threads %lu", in_thread(7));
    change(1);
    printf(" %lu\n", in_thread(8));
    fflush(stdout);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  pthread_barrier_wait(&barrier);
  pthread_join(id, &result);
  printf("the thread %lu, main %lu\n", (unsigned long)result, use(2));
  return 0;
}
