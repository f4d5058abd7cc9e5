// RUN: %same %s
// RUN: %lifted %s
// Loops of all shapes: counted up, down and by steps, nested, tiled, over lists and trees, with breaks, without ends.
#include <stdio.h>
#include <stdlib.h>

enum { n = 48 };
static double a[n][n], b[n][n], c[n][n];

static void multiply(void) {
  for (int ii = 0; ii < n; ii += 8)
    for (int jj = 0; jj < n; jj += 8)
      for (int k = 0; k < n; k++)
        for (int i = ii; i < ii + 8; i++)
          for (int j = jj; j < jj + 8; j++)
            c[i][j] += a[i][k] * b[k][j];
}

struct cell {
  int key;
  struct cell *left, *right;
};

static struct cell *insert(struct cell **at, int key) {
  while (*at)
    at = key < (*at)->key ? &(*at)->left : &(*at)->right;
  *at = calloc(1, sizeof **at);
  (*at)->key = key;
  return *at;
}

static long walk(const struct cell *at, int depth) {
  return at ? at->key * (depth + 1L) + walk(at->left, depth + 1) + walk(at->right, depth + 1) : 0;
}

__attribute__((noinline)) static int collatz(unsigned long x) {
  int steps = 0;
  for (;;) {
    if (x == 1)
      break;
    x = x % 2 ? 3 * x + 1 : x / 2;
    if (++steps > 1000)
      return -1;
  }
  return steps;
}

__attribute__((noinline)) static unsigned down(unsigned char *bytes, int count) {
  unsigned hash = 7;
  do {
    hash = hash * 31 + bytes[--count];
  } while (count > 0);
  for (unsigned char step = 250; step > 5; step -= 7)
    hash ^= step << (step & 15);
  return hash;
}

__attribute__((noinline)) static int indirect(const int *where, const int *what, int count) {
  int best = -1;
  for (int i = 0; i < count; i++)
    if (what[where[i]] > best)
      best = what[where[i]];
  return best;
}

int main(void) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      a[i][j] = i - j, b[i][j] = i * 0.5 + j;
  multiply();
  double sum = 0;
  for (int i = n - 1; i >= 0; i -= 3)
    sum += c[i][n - 1 - i];
  printf("%g\n", sum);
  struct cell *root = NULL;
  for (unsigned i = 0, x = 9; i < 200; i++)
    insert(&root, (x = x * 69069 + 1) >> 20);
  printf("%ld\n", walk(root, 0));
  printf("%d %d\n", collatz(27), collatz(97));
  unsigned char bytes[] = "counting down";
  printf("%u\n", down(bytes, sizeof bytes));
  int where[] = {3, 1, 4, 1, 5}, what[] = {2, 7, 1, 8, 2, 9};
  printf("%d\n", indirect(where, what, 5));
  return 0;
}
