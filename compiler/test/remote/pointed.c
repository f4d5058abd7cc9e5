// Functions that are called by their addresses, and pointers whose last bits are marks.
// RUN: %remote %S/Inputs/pointed.toml %s -pthread
// RUN: farside-cc -O2 -g -Rfarside -fsections=%S/Inputs/pointed.toml %s -pthread -o %t 2>&1 | FileCheck %s --implicit-check-not='several threads may use'
// RUN: farside-cc -O2 -g -DSENT -Rfarside -fsections=%S/Inputs/pointed.toml %s -pthread -o %t 2>&1 | FileCheck %s --check-prefix=SENT
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef SENT
#include <signal.h>
#endif

enum { count = 3000 };

struct shape;
struct operations {
  long (*area)(const struct shape *);
  struct shape *(*grow)(struct shape *, long);
};
struct shape {
  const struct operations *operations;
  long a, b;
  struct shape *next;
};

static long area_of_rectangle(const struct shape *shape) { return shape->a * shape->b; }
static long area_of_square(const struct shape *shape) { return shape->a * shape->a; }
static struct shape *grow(struct shape *shape, long by) {
  shape->a += by;
  return shape->next;
}
static const struct operations rectangle = {area_of_rectangle, grow}, square = {area_of_square, grow};

static __attribute__((noinline)) struct shape *make_shape(long i, struct shape *next) {
  // CHECK-DAG: pointed.c:[[@LINE+2]]: remark: {{.*}} goes to the section 'shapes'
  // SENT-DAG: pointed.c:[[@LINE+1]]: remark: {{.*}} does not go to the section 'shapes': it is passed to or comes from 'signal'
  struct shape *made = malloc(sizeof *made);
  made->operations = i % 3 ? &rectangle : &square;
  made->a = i % 7, made->b = i % 5;
  made->next = next;
  return made;
}

// What is called by pointers that are passed on, and what these functions return.
static void each(struct shape *all, void (*visit)(struct shape *, void *), void *with) {
  for (; all; all = all->next)
    visit(all, with);
}
static __attribute__((noinline)) void add(struct shape *shape, void *with) { *(long *)with += shape->operations->area(shape); }
static __attribute__((noinline)) void spread(struct shape *shape, void *with) { shape->b += *(long *)with; }
static void (*const visits[])(struct shape *, void *) = {add, spread};

// A function that others know.
static void *elsewhere(void *passed) { return (long *)passed + 1; }
static __attribute__((noinline)) long in_thread(void) {
  // CHECK-DAG: pointed.c:[[@LINE+1]]: remark: {{.*}} does not go to the section 'passed': it is passed to or comes from 'pthread_create'
  long *passed = calloc(2, sizeof *passed);
  passed[1] = 5;
  pthread_t id;
  void *result;
  if (pthread_create(&id, NULL, elsewhere, passed))
    exit(1);
  pthread_join(id, &result);
  return *(long *)result;
}

// It is called by its address, too, and stays with what that is called with.
static void *(*volatile way)(void *) = elsewhere;
static __attribute__((noinline)) long both(void) {
  // CHECK-DAG: pointed.c:[[@LINE+1]]: remark: {{.*}} does not go to the section 'passed': it is passed to or comes from
  long *passed = calloc(2, sizeof *passed);
  passed[1] = 7;
  return *(long *)way(passed);
}

// A tree whose pointers tell by their last bit whether they lead to a leaf.
struct leaf {
  uint64_t key, value;
};
struct inner {
  unsigned bit;
  void *children[2];
};
static void *root;
static int is_leaf(const void *at) { return (uintptr_t)at & 1; }
static struct leaf *leaf_of(void *at) { return (struct leaf *)((uintptr_t)at & ~(uintptr_t)1); }

static __attribute__((noinline)) void insert(uint64_t key, uint64_t value) {
  // CHECK-DAG: pointed.c:[[@LINE+1]]: remark: {{.*}} goes to the section 'tree'
  struct leaf *leaf = malloc(sizeof *leaf);
  leaf->key = key, leaf->value = value;
  void *marked = (void *)((uintptr_t)leaf | 1);
  if (!root) {
    root = marked;
    return;
  }
  void *at = root;
  while (!is_leaf(at))
    at = ((struct inner *)at)->children[key >> ((struct inner *)at)->bit & 1];
  uint64_t differ = leaf_of(at)->key ^ key;
  if (!differ) {
    leaf_of(at)->value += value;
    free(leaf);
    return;
  }
  unsigned bit = 63 - __builtin_clzll(differ);
  void **place = &root;
  while (!is_leaf(*place) && ((struct inner *)*place)->bit > bit)
    place = &((struct inner *)*place)->children[key >> ((struct inner *)*place)->bit & 1];
  // CHECK-DAG: pointed.c:[[@LINE+1]]: remark: {{.*}} goes to the section 'tree'
  struct inner *inner = malloc(sizeof *inner);
  inner->bit = bit;
  inner->children[key >> bit & 1] = marked;
  inner->children[!(key >> bit & 1)] = *place;
  *place = inner;
}

static uint64_t sum_of(void *at) {
  if (is_leaf(at))
    return leaf_of(at)->key * 3 + leaf_of(at)->value;
  struct inner *inner = at;
  return sum_of(inner->children[0]) * 5 + sum_of(inner->children[1]);
}

// A mark that another number makes.
static uintptr_t marks[count];
static __attribute__((noinline)) long colours(int argc) {
  long sum = 0;
  // CHECK-DAG: pointed.c:[[@LINE+1]]: remark: {{.*}} goes to the section 'coloured'
  long *all = malloc(count * sizeof *all);
  long **coloured = malloc(count * sizeof *coloured);
  for (long i = 0; i < count; i++) {
    all[i] = i * argc;
    coloured[i] = (long *)((uintptr_t)&all[i] | ((i * argc) & 3));
  }
  for (long i = 0; i < count; i++) {
    uintptr_t at = (uintptr_t)coloured[i * 7 % count];
    sum = sum * 3 + *(long *)(at ^ (at & 3)) + (at & 3);
    marks[i] = at & 7;
  }
  free(coloured);
  free(all);
  return sum;
}

int main(int argc, char **argv) {
  struct shape *all = NULL;
  for (long i = 0; i < count; i++)
    all = make_shape(i, all);
  for (struct shape *at = all; at;)
    at = at->operations->grow(at, argc);
  long sum = argc;
  each(all, visits[argc > 5], &sum);
  each(all, visits[argc > 0], &sum);
  each(all, visits[argc > 5], &sum);
#ifdef SENT
  signal(SIGUSR1, (void (*)(int))visits[0]);
#endif
  printf("%ld %ld %ld\n", sum, in_thread(), both());
  for (uint64_t i = 0; i < count; i++)
    insert(i * 0x9e3779b97f4a7c15u, i);
  printf("%lu\n", (unsigned long)sum_of(root));
  printf("%ld %lu\n", colours(argc), (unsigned long)marks[5]);
  return 0;
}
