// It is told which threads use a section, and whether others than the main one write there.
// REQUIRES: farside
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: farside-cc -O2 -ffarside-profile -fsections=%S/Inputs/users.toml %s -o program -lpthread
// RUN: env FARSIDE_PROFILE=made.json %farside run --local 8M --sections always -- ./program > printed 2> said
// RUN: FileCheck %s --check-prefix=PRINTED < printed
// RUN: %S/Inputs/profile show made.json | FileCheck %s
// PRINTED: 15
// CHECK-DAG: users alone main True others 0 write False
// CHECK-DAG: users table main True others 2 write False
// CHECK-DAG: users parts main False others 2 write True
// CHECK-DAG: users turns main False others 1 write True
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long *table, *alone;
static pthread_barrier_t both;

static void *both_read(void *given) {
  long *part = malloc(1000 * sizeof *part), sum = 0;
  for (long i = 0; i < 1000; i++)
    part[i * 7 % 1000] = table[i * 11 % 1000];
  for (long i = 0; i < 1000; i++)
    sum += part[i * 13 % 1000];
  free(part);
  *(long *)given = sum;
  // Neither has ended before the other one has begun.
  pthread_barrier_wait(&both);
  return 0;
}

static void *one_by_one(void *given) {
  long *turn = calloc(1000, sizeof *turn), sum = 0;
  for (long i = 0; i < 1000; i++)
    turn[i * 7 % 1000] += i;
  for (long i = 0; i < 1000; i++)
    sum += turn[i * 13 % 1000];
  free(turn);
  *(long *)given = sum;
  return 0;
}

int main(void) {
  static long sums[4];
  pthread_t threads[2];
  pthread_barrier_init(&both, 0, 2);
  table = malloc(1000 * sizeof *table);
  alone = malloc(1000 * sizeof *alone);
  for (long i = 0; i < 1000; i++)
    table[i * 7 % 1000] = alone[i * 3 % 1000] = i;
  for (int i = 0; i < 2; i++)
    pthread_create(&threads[i], 0, both_read, &sums[i]);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], 0);
  for (int i = 2; i < 4; i++) {
    pthread_create(&threads[0], 0, one_by_one, &sums[i]);
    pthread_join(threads[0], 0);
  }
  printf("%ld\n", (sums[0] + sums[1] + sums[2] + sums[3] + alone[45]) % 999);
  return 0;
}
