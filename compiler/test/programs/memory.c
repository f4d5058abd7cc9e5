// RUN: %same %s
// RUN: %lifted %s
// Memory of all kinds: on the stack with a length known late, in structures passed by value, per thread, atomic.
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct big {
  char name[40];
  double values[5];
};
struct small {
  int x;
  float y;
};
struct flexible {
  size_t count;
  short tail[];
};
union both {
  double number;
  uint64_t bits;
};

static _Thread_local int mine = 5;
static _Atomic long total;
static atomic_flag taken = ATOMIC_FLAG_INIT;
static alignas(64) int aligned[3];
static int guarded;

__attribute__((noinline)) static struct big grow(struct big given, int by) {
  for (int i = 0; i < 5; i++)
    given.values[i] += by * i;
  strcat(given.name, "+");
  return given;
}

__attribute__((noinline)) static struct small swap(struct small given) {
  return (struct small){(int)given.y, (float)given.x};
}

__attribute__((noinline)) static long late(int n) {
  long sum = 0;
  for (int round = 1; round <= 3; round++) {
    int numbers[n * round], grid[round][n];
    for (int i = 0; i < n * round; i++)
      numbers[i] = i * i;
    for (int r = 0; r < round; r++)
      for (int c = 0; c < n; c++)
        grid[r][c] = numbers[r * n + c];
    sum += numbers[n] + grid[round - 1][n - 1] + (long)sizeof numbers;
  }
  return sum;
}

static void *work(void *given) {
  for (int i = 0; i < 1000; i++) {
    mine += i & 1;
    atomic_fetch_add_explicit(&total, mine, memory_order_relaxed);
    while (atomic_flag_test_and_set_explicit(&taken, memory_order_acquire))
      ;
    guarded++;
    atomic_flag_clear_explicit(&taken, memory_order_release);
  }
  return (void *)(intptr_t)mine;
}

int main(void) {
  struct big b = grow(grow((struct big){"one", {1, 2, 3, 4, 5}}, 2), 3);
  printf("%s %g %g\n", b.name, b.values[0], b.values[4]);
  struct small s = swap((struct small){7, 9.5f});
  printf("%d %g\n", s.x, s.y);
  printf("%ld\n", late(6));
  struct flexible *f = malloc(sizeof *f + 10 * sizeof f->tail[0]);
  f->count = 10;
  for (size_t i = 0; i < f->count; i++)
    f->tail[i] = (short)(i * 7000);
  printf("%d\n", f->tail[9]);
  free(f);
  union both u = {.number = -0.5};
  printf("%llx\n", (unsigned long long)u.bits);
  pthread_t threads[3];
  for (int i = 0; i < 3; i++)
    pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 3; i++) {
    void *result;
    pthread_join(threads[i], &result);
    printf("%d ", (int)(intptr_t)result);
  }
  printf("%ld %d %d %d\n", atomic_load(&total), guarded, mine, (int)((uintptr_t)aligned % 64));
  long expected = total;
  printf("%d ", atomic_compare_exchange_strong(&total, &expected, -1));
  printf("%d\n", atomic_compare_exchange_weak(&total, &expected, 3));
  atomic_thread_fence(memory_order_seq_cst);
  volatile int *v = &guarded;
  *v = *v + 1;
  return guarded & 127;
}
