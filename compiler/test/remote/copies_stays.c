// What another thread than the main one may allocate, write to or free has no copies.
// RUN: %remote %S/Inputs/copies_stays.toml %s -pthread
// RUN: farside-cc -O2 -g -Rfarside -fsections=%S/Inputs/copies_stays.toml %s -pthread -o %t 2>&1 | FileCheck %s
// RUN: %if farside %{ %farside explain %t | FileCheck %s --check-prefix=EXPLAIN %}
// EXPLAIN: of which each thread but the main one has a copy
// Units that are converted one by one do not know what others do.
// RUN: farside-cc -O2 -g -Rfarside -fno-farside-link -fsections=%S/Inputs/copies_stays.toml %s -pthread -o %t 2>&1 | FileCheck %s --check-prefix=APART
// APART-NOT: goes to the section
// APART: does not go to the section 'table': sections have copies only in programs that are converted when they are linked
// RUN: farside-cc -O2 -g -DSWITCHING -Rfarside -fsections=%S/Inputs/copies_stays.toml %s -pthread -o %t 2>&1 | FileCheck %s --check-prefix=SWITCHING
// SWITCHING-NOT: goes to the section
// SWITCHING: does not go to the section 'table': the program calls 'swapcontext', so that one thread may go on with
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef SWITCHING
#include <ucontext.h>
#endif

enum { count = 100 };

static long *read_only, *written, *filled, *freed, *grown, *lent, *made;
static unsigned long result;
// That it is always the same is not known.
static volatile size_t many = count;

static __attribute__((noinline)) void make_read(void) {
  // CHECK-DAG: copies_stays.c:[[@LINE+1]]: remark: {{.*}} goes to the section 'table'
  read_only = calloc(many, sizeof *read_only);
  for (int i = 0; i < count; i++)
    read_only[i] = i * i;
}

static __attribute__((noinline)) void in_thread(void) {
  // CHECK-DAG: copies_stays.c:[[@LINE+1]]: remark: {{.*}} does not go to the section 'table': it is allocated in 'in_thread', which other threads may run
  made = calloc(many, sizeof *made);
}

static __attribute__((noinline)) void store(void) {
  // CHECK-DAG: does not go to the section 'table': it may be written or freed in 'store', which other threads may run ({{.*}}copies_stays.c:[[@LINE+1]])
  written[3] = 4;
}

static __attribute__((noinline)) void fill(void) { memset(filled, 1, count * sizeof *filled); }
static __attribute__((noinline)) void give_up(void) { free(freed); }
static __attribute__((noinline)) void grow(void) { grown = realloc(grown, 2 * count * sizeof *grown); }
static __attribute__((noinline)) void lend(void) { snprintf((char *)lent, count, "%d", count); }

static void *work(void *unused) {
  in_thread();
  store();
  fill();
  give_up();
  grow();
  lend();
  for (int i = 0; i < count; i++)
    result = result * 31 + (unsigned long)(read_only[i] + written[i] + filled[i] + lent[i] + made[i]);
  return unused;
}

int main(void) {
  pthread_t id;
  make_read();
  written = calloc(many, sizeof *written);
  // CHECK-DAG: copies_stays.c:[[@LINE+1]]: remark: {{.*}} does not go to the section 'table': it may be written or freed in 'fill', which
  filled = calloc(many, sizeof *filled);
  // CHECK-DAG: copies_stays.c:[[@LINE+1]]: remark: {{.*}} does not go to the section 'table': it may be written or freed in 'give_up', which
  freed = calloc(many, sizeof *freed);
  // CHECK-DAG: copies_stays.c:[[@LINE+1]]: remark: {{.*}} does not go to the section 'table': it may be written or freed in 'grow', which
  grown = calloc(many, sizeof *grown);
  // CHECK-DAG: copies_stays.c:[[@LINE+1]]: remark: {{.*}} does not go to the section 'table': it may be written or freed in 'lend', which
  lent = calloc(many, sizeof *lent);
#ifdef SWITCHING
  ucontext_t here, there;
  getcontext(&there);
  if (many > 1000)
    swapcontext(&here, &there);
#endif
  if (pthread_create(&id, NULL, work, NULL))
    return 1;
  pthread_join(id, NULL);
  printf("%lu %ld\n", result, grown[4]);
  return 0;
}
