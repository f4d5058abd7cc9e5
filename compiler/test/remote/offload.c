// Functions that read sections and leave nothing behind but results run where their data is, and do the same there.
// RUN: env FARSIDE_OFFLOAD=always %remote %S/Inputs/offload.toml %s -lm
// RUN: farside-cc -O2 -g -Rfarside -fsections=%S/Inputs/offload.toml %s -lm -o %t 2>&1 | FileCheck %s
// RUN: llvm-readelf --string-dump=.farside.notes %t | FileCheck %s --check-prefix=NOTES
// RUN: llvm-readelf --sections %t | FileCheck %s --check-prefix=PART
// NOTES-DAG: {"function":"sum_above","place":"{{[^"]*}}offload.c:{{[0-9]+}}"}
// NOTES-DAG: {"because":"{{.*}}offload.c:{{[0-9]+}}","function":"changes","place":"{{.*}}offload.c:{{[0-9]+}}","stays":"it writes to a section"
// PART: .farside.offload
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct row {
  int32_t key, group;
  double price, amount;
};
struct range {
  double least, most, sum;
  uint64_t count;
};
struct node {
  struct node *next;
  int64_t value[3];
};

static struct row *rows;
static size_t count;
static const double weights[4] = {0.5, 1.5, 2.5, 4.5};

// A value that is returned, and variables that go with the call.
// CHECK-DAG: offload.c:[[@LINE+1]]: remark: function 'sum_above' can run where its data is
double sum_above(double least) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i)
    if (rows[i].price > least)
      sum += rows[i].amount * weights[rows[i].group & 3];
  return sum;
}

// A result that is left where an argument leads to, and one that is returned in memory.
// CHECK-DAG: offload.c:[[@LINE+1]]: remark: function 'leave_range' can run where its data is
void leave_range(const struct row *from, size_t some, struct range *result) {
  result->sum = 0;
  for (size_t i = 0; i < some; ++i)
    result->sum += exp(from[i].price / 1024);
  if (some > 10)
    result->count = some;
}
// CHECK-DAG: offload.c:[[@LINE+1]]: remark: function 'range_of' can run where its data is
struct range range_of(struct range given) {
  struct range range = {1e300, -1e300, given.sum, given.count};
  for (size_t i = 0; i < count; ++i) {
    range.least = fmin(range.least, rows[i].price);
    range.most = fmax(range.most, rows[i].price);
  }
  return range;
}

// Pointers in memory, and what is recursive.
static int64_t below(const struct node *node, int depth) {
  return depth && node ? node->value[depth % 3] + below(node->next, depth - 1) : 0;
}
// CHECK-DAG: offload.c:[[@LINE+1]]: remark: function 'chain' can run where its data is
int64_t chain(const struct node *node) {
  int64_t sum = 0;
  int64_t last[4] = {0};
  for (const struct node *each = node; each; each = each->next)
    last[each->value[0] & 3] = sum += each->value[1] ^ below(each, 3);
  return sum + last[1] + last[2];
}

// What comes to nothing there is run here.
// CHECK-DAG: offload.c:[[@LINE+1]]: remark: function 'lost' can run where its data is
int64_t lost(const struct row *row, int64_t *where) {
  *where = row->key;
  return *where + 1;
}

// CHECK-DAG: offload.c:[[@LINE+1]]: remark: function 'changes' runs here: it writes to a section ({{.*}}offload.c:
void changes(size_t i) { rows[i].price += 1; }
// CHECK-DAG: offload.c:[[@LINE+1]]: remark: function 'prints' runs here: it calls 'printf'
void prints(size_t i) { printf("%g\n", rows[i].price); }
static uint64_t calls;
// CHECK-DAG: offload.c:[[@LINE+1]]: remark: function 'counts' runs here: it writes to the variable 'calls'
double counts(size_t i) { return ++calls, rows[i].price; }
// CHECK-DAG: offload.c:[[@LINE+1]]: remark: function 'through' runs here: it comes to local memory by its argument 2
double through(size_t i, const double *factors) { return rows[i].price * factors[i % 3]; }
// CHECK-DAG: offload.c:[[@LINE+1]]: remark: function 'nothing' runs here: it reads nothing that is in sections
double nothing(double x) { return x * x; }

int main(void) {
  count = 5000;
  rows = malloc(count * sizeof *rows);
  struct node *nodes = malloc(1000 * sizeof *nodes);
  uint64_t x = 7;
  for (size_t i = 0; i < count; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    rows[i] = (struct row){x >> 40 & 1023, x >> 50 & 7, x >> 33 & 1023, x >> 20 & 255};
  }
  for (size_t i = 0; i < 1000; ++i) {
    nodes[i].next = i + 7 < 1000 ? nodes + i + 7 : NULL;
    nodes[i].value[0] = i;
    nodes[i].value[1] = i * 3;
    nodes[i].value[2] = i * i;
  }
  double factors[3];
  for (int i = 0; i < 3; ++i)
    factors[i] = rows[i].price;
  int64_t other;
  for (size_t round = 0; round < 4; ++round) {
    struct range result = {1, 2, 3, 4};
    leave_range(rows + round, round * 9, &result);
    struct range all = range_of(result);
    printf("%.17g %.17g %.17g %lu\n", all.least, all.most, all.sum, all.count);
    printf("%.17g %ld\n", sum_above(100 * round), chain(nodes + round));
    // The result lies where the function reads.
    int64_t kept = lost(rows + round, round % 2 ? &other : (int64_t *)&count);
    count = 5000;
    printf("%ld %g %g %g\n", kept, counts(round), through(round, factors), nothing(round));
    changes(round * 100);
    prints(round * 100);
  }
  free(nodes);
  free(rows);
  return 0;
}
