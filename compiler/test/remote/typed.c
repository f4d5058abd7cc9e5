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

// CHECK-DAG: typed.c:[[@LINE+1]]: remark: what is allocated here goes to the section 'nodes'
static struct node *new_nodes(long count) { return calloc(count, sizeof(struct node)); }
// CHECK-DAG: typed.c:[[@LINE+1]]: remark: what is allocated here goes to the section 'arcs'
static struct arc *new_arcs(long count) { return calloc(count, sizeof(struct arc)); }

// What is copied as a whole is of the same types.
struct pair {
  struct node *node;
  struct arc *arc;
  long rest[6];
};
// CHECK-DAG: typed.c:[[@LINE+1]]: remark: what is allocated here goes to the section 'pairs'
static struct pair *new_pairs(long count) { return calloc(count, sizeof(struct pair)); }

static long walk(struct pair *pairs, long count) {
  unsigned long all = 0;
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
  unsigned long all = walk(pairs, PAIRS);
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
// CHECK-DAG: typed.c:[[@LINE+2]]: remark: what is allocated here goes to the section 'ones'
static struct one *new_one(long value) {
  struct one *made = malloc(sizeof *made);
  made->value = value;
  return made;
}
// CHECK-DAG: typed.c:[[@LINE+2]]: remark: what is allocated here does not go to the section 'others': pointers to it may also lead to the section 'ones'
static struct other *new_other(long value) {
  struct other *made = malloc(sizeof *made);
  made->values[0] = made->values[2] = value;
  made->values[1] = 5;
  return made;
}

__attribute__((noinline)) static long look(struct box *boxes, long count) {
  unsigned long all = 0;
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
  unsigned long all = 0;
  for (long i = 0; i < count; i++)
    all = all * 31 + (i % 2 ? eithers[i].one->value : eithers[i].other->values[0]);
  return all;
}

// Fields of one record are told apart, also those that lead to anything, and those of a record within another.
struct columns {
  int *hours, *zones;
};
struct frame {
  long count;
  struct columns columns;
  void *label;
};
// CHECK-DAG: typed.c:[[@LINE+1]]: remark: what is allocated here goes to the section 'hours'
static int *new_hours(long count) { return calloc(count, sizeof(int)); }
// CHECK-DAG: typed.c:[[@LINE+1]]: remark: what is allocated here goes to the section 'zones'
static int *new_zones(long count) { return calloc(count, sizeof(int)); }
// CHECK-DAG: typed.c:[[@LINE+1]]: remark: what is allocated here goes to the section 'labels'
static char *new_label(void) { return calloc(300, 1); }

__attribute__((noinline)) static void fill_columns(struct columns *columns, long count) {
  for (long i = 0; i < count; i++) {
    columns->hours[i] = i % 24;
    columns->zones[i] = i * 7 % 256;
  }
}

__attribute__((noinline)) static long query(struct frame *frame) {
  unsigned long all = strlen(frame->label);
  for (long i = 0; i < frame->count; i++)
    all = all * 31 + frame->columns.hours[i] + frame->columns.zones[frame->count - 1 - i];
  return all;
}

// Where a field is come to as a pointer of its type, it may be any of these.
struct halves {
  short *low, *high;
};
// CHECK-DAG: typed.c:[[@LINE+1]]: remark: what is allocated here goes to the section 'lows'
static short *new_low(long count) { return calloc(count, sizeof(short)); }
// CHECK-DAG: typed.c:[[@LINE+1]]: remark: what is allocated here does not go to the section 'highs': pointers to it may also lead to the section 'lows'
static short *new_high(long count) { return calloc(count, sizeof(short)); }

__attribute__((noinline)) static void swap(short **one, short **other) {
  short *kept = *one;
  *one = *other;
  *other = kept;
}

__attribute__((noinline)) static long difference(struct halves *halves, long count) {
  unsigned long all = 0;
  for (long i = 0; i < count; i++)
    all = all * 31 + halves->low[i] - 2 * halves->high[i];
  return all;
}

__attribute__((noinline)) static long records(struct frame *frame, struct halves *halves, long count) {
  frame->count = count;
  frame->columns.hours = new_hours(count);
  frame->columns.zones = new_zones(count);
  frame->label = memset(new_label(), 'x', 299);
  fill_columns(&frame->columns, count);
  halves->low = new_low(count);
  halves->high = new_high(count);
  for (long i = 0; i < count; i++) {
    halves->low[i] = i % 100;
    halves->high[i] = i % 77;
  }
  unsigned long all = query(frame) + difference(halves, count);
  swap(&halves->low, &halves->high);
  all = all * 31 + difference(halves, count);
  free(halves->low);
  free(halves->high);
  free(frame->label);
  free(frame->columns.zones);
  free(frame->columns.hours);
  return all;
}

int main(void) {
  enum { BOXES = 50 };
  struct frame *frame = malloc(sizeof *frame);
  struct halves halves;
  printf("%lx\n", records(frame, &halves, 3000));
  free(frame);
  struct box boxes[BOXES];
  union either eithers[BOXES];
  printf("%lx\n", together());
  fill(boxes, BOXES);
  printf("%lx %lx\n", look(boxes, BOXES), turn(eithers, boxes, BOXES));
  for (long i = 0; i < BOXES; i++)
    free(boxes[i].content);
}
