// Functions that callers pass pointers to different sections, or to what stays, are there for each of them.
// RUN: %remote %S/Inputs/specialized.toml %s
// RUN: farside-cc -O1 -g -fno-inline -c -Rfarside -fno-farside-link -fsections=%S/Inputs/specialized.toml %s -o %t.o 2>&1 | \
// RUN:   FileCheck %s --implicit-check-not='does not go'
// RUN: llvm-nm %t.o | FileCheck %s --check-prefix=NAMES --implicit-check-not=pairs.for --implicit-check-not=insert.for
// What is not in sections is for others as clang made it.
// NAMES-DAG: {{ t sum.remote$}}
// NAMES-DAG: {{ t sum.for[.0-9]*$}}
// NAMES-DAG: {{ t swap.remote$}}
// NAMES-DAG: {{ t swap.for[.0-9]*.remote$}}
// That not all goes anyhow is no reason.
// RUN: sed '/lists/,/^$/d' %S/Inputs/specialized.toml > %t.toml
// RUN: farside-cc -O1 -fno-inline -c -fno-farside-link -fsections=%t.toml -DALONE %s -o %t.alone.o
// RUN: llvm-nm %t.alone.o | FileCheck %s --check-prefix=ALONE
// ALONE-NOT: .for
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
  struct item *next;
  long value;
};
struct tree {
  struct tree *left, *right;
  long value;
};

// CHECK: what is allocated here goes to the section 'words'
static long *new_words(long count) { return calloc(count, sizeof(long)); }
// CHECK: what is allocated here goes to the section 'lists'
static struct item *new_items(long count) { return calloc(count, sizeof(struct item)); }
// CHECK: what is allocated here goes to the section 'trees'
static struct tree *new_tree(long value) {
  struct tree *tree = malloc(sizeof *tree);
  *tree = (struct tree){NULL, NULL, value};
  return tree;
}

// Is passed what is in a section, what is not, and what others know.
static long sum(const long *words, long count) {
  long all = 0;
  for (long i = 0; i < count; i++)
    all = all * 3 + words[i];
  return all;
}

// Calls what is called with something else, too.
static long sum_twice(const long *words, long count) { return sum(words, count) * 5 + sum(words + 1, count - 1); }

// Comes back to itself.
static long count_below(const struct tree *tree, long value) {
  return tree ? count_below(tree->left, value) + count_below(tree->right, value) + (tree->value < value) : 0;
}

// Only what is in one section.
static long pairs(const struct item *items) {
  long all = 0;
  for (const struct item *at = items; at; at = at->next)
    all += at->next && at->value < at->next->value;
  return all;
}

static void insert(struct tree **place, struct tree *tree) {
  while (*place)
    place = tree->value < (*place)->value ? &(*place)->left : &(*place)->right;
  *place = tree;
}

// Swaps values wherever they are.
static void swap(long *one, long *other) {
  long kept = *one;
  *one = *other;
  *other = kept;
}

int main(void) {
  long here[100], *words = new_words(3000);
  long *elsewhere = malloc(50 * sizeof(long));
  struct item *items = new_items(800);
  for (long i = 0; i < 3000; i++)
    words[i] = i * 2654435761u % 1009;
  for (long i = 0; i < 100; i++)
    here[i] = i * 7 % 31;
  for (long i = 0; i < 50; i++)
    elsewhere[i] = i;
  // Known outside.
  char text[20];
  snprintf(text, sizeof text, "%p", (void *)elsewhere);
  for (long i = 0; i < 800; i++) {
    items[i].value = i * 31 % 97;
    items[i].next = i + 1 < 800 ? &items[i + 1] : NULL;
  }
  struct tree *root = NULL, leaf = {NULL, NULL, 4}, top = {&leaf, NULL, 6};
  for (long i = 0; i < 500; i++)
    insert(&root, new_tree(i * 7919 % 1000));
#ifdef ALONE
  elsewhere = words;
#endif
  swap(&here[3], &here[4]);
  swap(&words[5], &words[1500]);
  swap(&items[5].value, &items[700].value);
  printf("%lx %lx %lx\n", sum(words, 3000), sum(here, 100), sum(elsewhere, 50));
  printf("%lx %lx\n", sum_twice(words, 2000), sum_twice(here, 50));
  printf("%ld %ld\n", count_below(root, 500), count_below(&top, 5));
  printf("%ld %ld\n", pairs(items), pairs(items + 400));
  free(elsewhere);
  free(items);
  free(words);
  return strlen(text) == 0;
}
