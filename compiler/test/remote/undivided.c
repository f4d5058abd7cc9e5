// Where no fields can be selected, it is said why.
// RUN: farside-cc -O2 -g -Rfarside -fsections=%S/Inputs/undivided.toml %s -o %t -lpthread 2>&1 | FileCheck %s
// RUN: %remote %S/Inputs/undivided.toml %s -lpthread
// RUN: farside-cc -O2 -g -c -fno-farside-link -Rfarside -fsections=%S/Inputs/undivided.toml %s -o %t.o 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: farside-cc -O2 -g -DJUMPS -Rfarside -fsections=%S/Inputs/undivided.toml %s -o %t -lpthread 2>&1 | FileCheck %s --check-prefix=JUMPS
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ALONE: remark: no fields of the section 'half' are selected: units are converted one by one
// JUMPS: remark: no fields of the section 'half' are selected: the program has setjmp() or its like

struct node {
  long first, second, third, fourth;
};
struct odd {
  long a, b, c;
};
struct found {
  struct node *node, *other;
};

enum { COUNT = 3000 };

static struct node *half, *unknown, *fresh, *shared, *filled;
static struct odd *odd;
static long *one;

__attribute__((noinline)) static void make_half(void) { half = calloc(COUNT, sizeof *half); }
__attribute__((noinline)) static void make_unknown(void) { unknown = calloc(COUNT, sizeof *unknown); }
__attribute__((noinline)) static struct node *make_fresh(void) { return calloc(1, sizeof *fresh); }
__attribute__((noinline)) static void make_shared(void) { shared = calloc(COUNT, sizeof *shared); }
__attribute__((noinline)) static void make_filled(void) { filled = malloc(COUNT * sizeof *filled); }
__attribute__((noinline)) static void make_odd(void) { odd = calloc(COUNT, sizeof *odd); }
__attribute__((noinline)) static void make_one(void) { one = calloc(1000, sizeof *one); }

__attribute__((noinline)) static void halves(void) {
  // CHECK-DAG: undivided.c:[[@LINE+1]]: remark: no fields of the section 'half' are selected: more than half of each record is used
  for (int i = 0; i < COUNT; i++)
    half[i].first += half[i].second + ++half[i].third;
}

// Records whose size is no power of two: which part of them lies where depends on the record.
__attribute__((noinline)) static void odds(void) {
  // CHECK-DAG: undivided.c:[[@LINE+1]]: remark: no fields of the section 'odd' are selected: more than half of each record is used
  for (int i = 0; i < COUNT; i++)
    odd[i].b += i;
}

// Two pointers come back at once.
__attribute__((noinline)) static struct found find(int i) { return (struct found){&unknown[i], &unknown[i * 7 % COUNT]}; }
__attribute__((noinline)) static void by_number(void) {
  // CHECK-DAG: undivided.c:{{.*}}: remark: no fields of the section 'unknown' are selected: it is not known which part of a record is used
  for (int i = 0; i < COUNT; i++) {
    struct found found = find(i);
    found.node->third += found.other->third;
  }
}

__attribute__((noinline)) static struct node *changed(struct node *node) {
  node->second++;
  return node;
}
__attribute__((noinline)) static long renew(void) {
  long sum = 0;
  // CHECK-DAG: undivided.c:{{.*}}: remark: no fields of the section 'fresh' are selected: all of what is allocated in it is written
  for (int i = 0; i < COUNT; i++) {
    struct node *node = make_fresh();
    node->second = i;
    sum += changed(node)->second;
    free(node);
  }
  return sum;
}

static void *thread(void *nothing) {
  for (int i = 0; i < COUNT; i++)
    shared[i].third += i;
  return nothing;
}
// CHECK-DAG: remark: no fields of the section 'shared' are selected: 'thread' may be called from elsewhere, by another thread

__attribute__((noinline)) static void fill(int byte) {
  // CHECK-DAG: undivided.c:{{.*}}: remark: no fields of the section 'filled' are selected: more than half of each record is used
  for (int i = 0; i < COUNT; i++) {
    memset(&filled[i], byte, sizeof *filled);
    filled[i].second = i;
  }
}

// CHECK-DAG: remark: no fields of the section 'one' are selected: no loop uses it
__attribute__((noinline)) static void once(int which) { one[which % 1000]++; }

int main(int count, char **arguments) {
  make_half();
  make_unknown();
  make_shared();
  make_filled();
  make_odd();
  make_one();
#ifdef JUMPS
  static jmp_buf back;
  if (setjmp(back))
    return 1;
#endif
  halves();
  odds();
  by_number();
  long sum = renew();
  pthread_t other;
  pthread_create(&other, 0, thread, 0);
  pthread_join(other, 0);
  fill(count);
  once(count);
  sum += half[7].first + odd[8].b + unknown[3].third + shared[9].third + filled[4].second + one[1];
  printf("%ld\n", sum);
  return 0;
}
