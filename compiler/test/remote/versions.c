// Each converted function is there as it was, too, for where all pointers are plain: without Farside, and where all sections
// hold no more than they have room for, as an earlier run has shown or the section file says.
// RUN: %remote %S/Inputs/versions.toml %s
// RUN: farside-cc -O1 -fno-inline -fsections=%S/Inputs/versions.toml %s -o %t
// RUN: llvm-nm %t | FileCheck %s --check-prefix=NAMES
// NAMES-DAG: {{ t make_tree.plain$}}
// NAMES-DAG: {{ t make_tree.remote$}}
// NAMES-DAG: {{ T main$}}
// NAMES-DAG: {{ t give_up.plain$}}
// NAMES-DAG: {{ t give_up.remote$}}
// Which one is chosen by the sections that a function uses and what it calls: words are the first, trees the second.
// RUN: farside-cc -O1 -fno-inline -fsections=%S/Inputs/versions.toml -S -emit-llvm %s -o - | FileCheck %s --check-prefix=USED
// USED-LABEL: define internal {{.*}}@main.remote(
// USED: call fastcc ptr @make_words(
// USED: call fastcc ptr @make_tree(
// USED-LABEL: define internal {{.*}}@give_up.remote(
// USED: call fastcc void @give_up.remote(
// USED-LABEL: define internal {{.*}}@main.plain(
// USED: call fastcc ptr @make_words.plain(
// USED-LABEL: define {{.*}}@main(
// USED: and i64 %{{.*}}, 3
// USED-LABEL: define {{.*}}@make_words(
// USED: and i64 %{{.*}}, 1
// USED: musttail call fastcc {{.*}}@make_words.plain(
// USED: musttail call fastcc {{.*}}@make_words.remote(
// USED-LABEL: define {{.*}}@give_up(
// USED: and i64 %{{.*}}, 2
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct tree {
  struct tree *left, *right;
  long value;
};
struct three {
  long numbers[3];
};
typedef long (*visitor)(long, long);
static jmp_buf out;
static long *words;

static long *make_words(long count) {
  long *words = malloc(count * sizeof *words);
  for (long i = 0; i < count; i++)
    words[i] = i * 2654435761u % 10007;
  return words;
}

static struct tree *make_tree(long depth, long value) {
  struct tree *tree = malloc(sizeof *tree);
  tree->value = value;
  tree->left = depth ? make_tree(depth - 1, value * 2) : NULL;
  tree->right = depth ? make_tree(depth - 1, value * 2 + 1) : NULL;
  return tree;
}

static void free_tree(struct tree *tree) {
  if (!tree)
    return;
  free_tree(tree->left);
  free_tree(tree->right);
  free(tree);
}

// Called directly, through a pointer, and by the function that follows.
static long sum_of(long so_far, long at) { return so_far * 31 + words[at]; }
static long last_of(long so_far, long at) { return words[at] ? words[at] : so_far; }

static long visit(long count, visitor what) {
  long all = 0;
  for (long i = 0; i < count; i++)
    all = what(all, i);
  return all;
}

static long sum_of_some(int count, ...) {
  va_list places;
  long all = 0;
  va_start(places, count);
  while (count--)
    all = sum_of(all, va_arg(places, long));
  va_end(places);
  return all;
}

static struct three by_value(struct three from) {
  for (int i = 0; i < 3; i++)
    from.numbers[i] += words[from.numbers[i]];
  return from;
}

static void give_up(const struct tree *tree, long at) {
  if (!tree)
    return;
  if (tree->value == at)
    longjmp(out, 1 + (int)tree->value % 100);
  give_up(tree->left, at);
  give_up(tree->right, at);
}

int main(int argc, char **argv) {
  long count = argc > 1 ? atol(argv[1]) : 30000;
  words = make_words(count);
  struct tree *tree = make_tree(10, 1);
  visitor what = count % 2 ? last_of : sum_of;
  printf("%ld %ld\n", visit(count, sum_of), visit(count, what));
  printf("%ld\n", sum_of_some(3, 5L, count - 1, 77L));
  struct three numbers = by_value((struct three){{1, 2, count / 2}});
  printf("%ld %ld %ld\n", numbers.numbers[0], numbers.numbers[1], numbers.numbers[2]);
  int found = setjmp(out);
  if (!found)
    give_up(tree, 1500);
  printf("%d\n", found);
  free(words);
  free_tree(tree);
  return 0;
}
