// Pointers in memory are told apart by what the language says they lead to, as long as it does.
// RUN: %remote %S/Inputs/typed.toml %s
// RUN: farside-cc -O2 -g -c -Rfarside -fno-farside-link -fsections=%S/Inputs/typed.toml %s -o /dev/null 2>&1 | \
// RUN:   FileCheck %s --implicit-check-not='remark: what is allocated'
// Without such rules all that is in memory may be the same.
// RUN: farside-cc -O2 -g -c -Rfarside -fno-farside-link -fno-strict-aliasing -fsections=%S/Inputs/typed.toml %s -o /dev/null 2>&1 | \
// RUN:   FileCheck %s --check-prefix=LOOSE
// LOOSE: does not go to the section 'nodes'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arc;
struct node {
  struct node *parent;
  struct arc *basic;
  long value;
};
struct arc {
  struct node *tail, *head;
  struct arc *next;
  long cost;
};

// CHECK: typed.c:[[@LINE+1]]: remark: what is allocated here goes to the section 'nodes'
static struct node *new_nodes(long count) { return calloc(count, sizeof(struct node)); }
// CHECK: typed.c:[[@LINE+1]]: remark: what is allocated here goes to the section 'arcs'
static struct arc *new_arcs(long count) { return calloc(count, sizeof(struct arc)); }

// What is copied as a whole is of the same types.
struct pair {
  struct node *node;
  struct arc *arc;
  long rest[6];
};
// CHECK: typed.c:[[@LINE+1]]: remark: what is allocated here goes to the section 'pairs'
static struct pair *new_pairs(long count) { return calloc(count, sizeof(struct pair)); }

static long walk(struct pair *pairs, long count) {
  long all = 0;
  for (long i = 0; i < count; i++) {
    struct pair *pair = &pairs[i];
    for (struct node *node = pair->node; node; node = node->parent)
      all = all * 31 + node->value + (node->basic ? node->basic->cost : 3);
    for (struct arc *arc = pair->arc; arc; arc = arc->next)
      all = all * 31 + arc->cost - arc->tail->value + arc->head->value;
  }
  return all;
}

static long together(void) {
  enum { NODES = 700, ARCS = 1500, PAIRS = 40 };
  struct node *nodes = new_nodes(NODES);
  struct arc *arcs = new_arcs(ARCS);
  struct pair *pairs = new_pairs(PAIRS);
  for (long i = 0; i < ARCS; i++)
    arcs[i] = (struct arc){&nodes[i * 7 % NODES], &nodes[i * 11 % NODES], i >= 97 ? &arcs[i - 97] : NULL, i % 17};
  for (long i = 0; i < NODES; i++) {
    nodes[i].value = i % 29;
    if (i >= 31)
      nodes[i].parent = &nodes[i - 31];
    if (i % 3)
      nodes[i].basic = &arcs[i * 2];
  }
  for (long i = 0; i < PAIRS / 2; i++) {
    pairs[i].node = &nodes[NODES - 1 - i];
    pairs[i].arc = &arcs[ARCS - 1 - i];
    pairs[i].rest[5] = i;
  }
  memcpy(pairs + PAIRS / 2, pairs, PAIRS / 2 * sizeof *pairs);
  struct pair first = pairs[0];
  pairs[0] = pairs[3];
  pairs[3] = first;
  long all = walk(pairs, PAIRS);
  free(pairs);
  free(arcs);
  free(nodes);
  return all;
}

// A pointer to anything may be one to each of the two, and a union does not say which it is.
struct one {
  long value;
};
struct other {
  long values[3];
};
struct box {
  void *content;
};
union either {
  struct one *one;
  struct other *other;
};
// The first of them may.
// CHECK: typed.c:[[@LINE+2]]: remark: what is allocated here goes to the section 'ones'
static struct one *new_one(long value) {
  struct one *made = malloc(sizeof *made);
  made->value = value;
  return made;
}
// CHECK: typed.c:[[@LINE+2]]: remark: what is allocated here does not go to the section 'others': pointers to it may also lead to the section 'ones'
static struct other *new_other(long value) {
  struct other *made = malloc(sizeof *made);
  made->values[0] = made->values[2] = value;
  made->values[1] = 5;
  return made;
}

__attribute__((noinline)) static long look(struct box *boxes, long count) {
  long all = 0;
  for (long i = 0; i < count; i++)
    all = all * 31 + (i % 2 ? ((struct one *)boxes[i].content)->value : ((struct other *)boxes[i].content)->values[2]);
  return all;
}

__attribute__((noinline)) static void fill(struct box *boxes, long count) {
  for (long i = 0; i < count; i++)
    if (i % 2)
      boxes[i].content = new_one(i);
    else
      boxes[i].content = new_other(i);
}

__attribute__((noinline)) static long turn(union either *eithers, struct box *boxes, long count) {
  for (long i = 0; i < count; i++)
    if (i % 2)
      eithers[i].one = boxes[i].content;
    else
      eithers[i].other = boxes[i].content;
  long all = 0;
  for (long i = 0; i < count; i++)
    all = all * 31 + (i % 2 ? eithers[i].one->value : eithers[i].other->values[0]);
  return all;
}

int main(void) {
  enum { BOXES = 50 };
  struct box boxes[BOXES];
  union either eithers[BOXES];
  printf("%lx\n", together());
  fill(boxes, BOXES);
  printf("%lx %lx\n", look(boxes, BOXES), turn(eithers, boxes, BOXES));
  for (long i = 0; i < BOXES; i++)
    free(boxes[i].content);
}
