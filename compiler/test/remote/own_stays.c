// What another thread may come to does not go to a section that each thread has of its own.
// RUN: %remote %S/Inputs/own_stays.toml %s -pthread
// RUN: farside-cc -O2 -g -Rfarside -fsections=%S/Inputs/own_stays.toml %s -pthread -o %t 2>&1 | FileCheck %s
// Nor does anything, if another thread may go on with what one has begun.
// RUN: farside-cc -O2 -g -DSWITCHING -Rfarside -fsections=%S/Inputs/own_stays.toml %s -pthread -o %t 2>&1 | FileCheck %s --check-prefix=SWITCHING
// SWITCHING-NOT: goes to the section
// SWITCHING: does not go to the section 'own': the program calls 'swapcontext', so that one thread may go on with
// SWITCHING-NOT: goes to the section
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef SWITCHING
#include <ucontext.h>
#endif

enum { count = 10 };

struct box {
  long *what;
  long some;
};

static long sum_of(const long *all) {
  long sum = 0;
  for (int i = 0; i < count; i++)
    sum = sum * 3 + all[i] + i;
  return sum;
}

// By a variable.
static long at_first[count], more_at_first[count];
static struct box box_at_first = {more_at_first, 0};
static long *shown = at_first;
static __attribute__((noinline)) void common(void) {
  // CHECK-DAG: own_stays.c:[[@LINE+1]]: remark: {{.*}} does not go to the section 'own': other threads may come to it by the variable 'shown' ({{.*}}own_stays.c:[[@LINE-2]])
  shown = calloc(count, sizeof *shown);
}

// By what a variable leads to.
static struct box *first = &box_at_first;
static __attribute__((noinline)) void behind(void) {
  // CHECK-DAG: own_stays.c:[[@LINE+1]]: remark: {{.*}} does not go to the section 'own': other threads may come to it by the variable 'first'
  first = malloc(sizeof *first);
  // CHECK-DAG: own_stays.c:[[@LINE+1]]: remark: {{.*}} does not go to the section 'own': other threads may come to it by the variable 'first'
  first->what = calloc(count, sizeof *first->what);
  first->some = 3;
}

// By a variable that each thread has, if its address is known.
static __thread long *exposed;
static long **door;
static __attribute__((noinline)) void variable_of_thread(void) {
  // CHECK-DAG: own_stays.c:[[@LINE+1]]: remark: {{.*}} does not go to the section 'own': other threads may come to it by the variable 'door'
  exposed = calloc(count, sizeof *exposed);
  door = &exposed;
}

// By the C library.
static pthread_key_t key;
static __attribute__((noinline)) long specific(long k) {
  // CHECK-DAG: own_stays.c:[[@LINE+1]]: remark: {{.*}} does not go to the section 'own': it is passed to or comes from 'pthread_setspecific'
  long *mine = calloc(count, sizeof *mine);
  mine[1] = k;
  pthread_setspecific(key, mine);
  long sum = sum_of(pthread_getspecific(key));
  free(mine);
  return sum;
}

// Nobody else does.
static __thread struct box kept;
static __attribute__((noinline)) long inside(long k) {
  // CHECK-DAG: own_stays.c:[[@LINE+1]]: remark: {{.*}} goes to the section 'own'
  kept.what = calloc(count, sizeof *kept.what);
  kept.what[3] = k;
  long sum = sum_of(kept.what);
  free(kept.what);
  return sum;
}

// A function that is passed both is there twice.
static __attribute__((noinline)) long help(long *all, long k) {
  for (int i = 0; i < count; i++)
    all[i] += k * i;
  return sum_of(all);
}
static long *seen;
static __attribute__((noinline)) long helped(long k) {
  // CHECK-DAG: own_stays.c:[[@LINE+1]]: remark: {{.*}} goes to the section 'own'
  long *mine = calloc(count, sizeof *mine);
  long sum = help(mine, k);
  free(mine);
  return sum;
}
static __attribute__((noinline)) long helped_common(long k) {
  // CHECK-DAG: own_stays.c:[[@LINE+1]]: remark: {{.*}} does not go to the section 'own': other threads may come to it by the variable 'seen'
  seen = calloc(count, sizeof *seen);
  return help(seen, k);
}

// What it is passed, and what that leads to.
static void *work(void *passed) {
  struct box *box = passed;
  long sum = sum_of(box->what) + sum_of(shown) + sum_of(first->what) + sum_of(*door) + sum_of(seen);
  sum = sum * 7 + specific(5) + inside(6) + helped(7);
  // CHECK-DAG: own_stays.c:[[@LINE+1]]: remark: {{.*}} does not go to the section 'own': it is passed to or comes from 'pthread_create'
  long *result = calloc(count, sizeof *result);
  result[2] = sum;
  return result;
}

static __attribute__((noinline)) pthread_t on_stack(struct box *box) {
  pthread_t id;
  // CHECK-DAG: own_stays.c:[[@LINE+1]]: remark: {{.*}} does not go to the section 'own': it is passed to or comes from 'pthread_create'
  box->what = calloc(count, sizeof *box->what);
  if (pthread_create(&id, NULL, work, box))
    exit(1);
  return id;
}

int main(void) {
  struct box box = {0};
  void *result;
  pthread_key_create(&key, NULL);
#ifdef SWITCHING
  ucontext_t here, there;
  getcontext(&there);
  if (key > 1000)
    swapcontext(&here, &there);
#endif
  common();
  behind();
  variable_of_thread();
  printf("%ld\n", helped_common(3));
  pthread_join(on_stack(&box), &result);
  printf("%ld\n", sum_of(result));
  printf("%ld %ld %ld\n", specific(1), inside(2), helped(3));
  return 0;
}
