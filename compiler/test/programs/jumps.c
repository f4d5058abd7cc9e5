// RUN: %same %s
// RUN: %lifted %s
// Flow that leaves its place: setjmp, computed goto, switches that fall through, loops with many exits.
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static jmp_buf back;

__attribute__((noinline)) static void dive(int depth) {
  if (depth == 0)
    longjmp(back, 42);
  dive(depth - 1);
}

__attribute__((noinline)) static int jump(void) {
  volatile int before = 1;
  int code = setjmp(back);
  if (code == 0) {
    before = 7;
    dive(5);
  }
  return code + before;
}

__attribute__((noinline)) static long interpret(const unsigned char *program) {
  static const void *const labels[] = {&&add, &&twice, &&skip, &&back_two, &&stop};
  long value = 1;
  int turns = 0;
  goto *labels[*program];
add:
  value += 5;
  goto *labels[*++program];
twice:
  value *= 2;
  goto *labels[*++program];
skip:
  program += 2;
  goto *labels[*program];
back_two:
  if (turns++ < 3)
    program -= 3;
  goto *labels[*++program];
stop:
  return value;
}

__attribute__((noinline)) static int classify(const char *text) {
  int kinds = 0;
  for (; *text; text++) {
    switch (*text) {
    case 'a' ... 'f':
      kinds += 1;
      // Falls through.
    case 'g':
      kinds += 10;
      break;
    case '0':
      continue;
    case '!':
      return -kinds;
    default:
      if (kinds > 500)
        goto out;
      kinds += 100;
    }
    kinds++;
  }
out:
  return kinds;
}

__attribute__((noinline)) static int search(const int *from, int n, int wanted) {
  for (int i = 0; i < n; i++)
    for (int j = i; j < n; j++) {
      if (from[i] + from[j] == wanted)
        return i * n + j;
      if (from[j] < 0)
        goto negative;
    }
  return -1;
negative:
  return -2;
}

int main(void) {
  printf("%d\n", jump());
  printf("%ld\n", interpret((const unsigned char[]){0, 1, 2, 0, 1, 3, 0, 4}));
  printf("%d %d %d\n", classify("abcxg0z"), classify("a!b"), classify("zzzzzzzzzz"));
  int numbers[] = {3, 9, 14, 20, 31};
  printf("%d %d\n", search(numbers, 5, 34), search(numbers, 5, 99));
  numbers[3] = -1;
  printf("%d\n", search(numbers, 5, 99));
  return 3;
}
