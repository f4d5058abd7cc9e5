// RUN: %same %s
// RUN: %lifted %s
// What is between functions: aliases, weak symbols, functions chosen at load time, constructors, sections.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((weak)) int absent(int);
__attribute__((weak)) int given(int x) { return x + 1; }
int real(int x) { return x * 2; }
int other_name(int x) __attribute__((alias("real")));
static int inside = 3;
extern int outside __attribute__((alias("inside")));

static int fast(int x) { return x - 1; }
static int (*choose(void))(int) { return fast; }
int chosen(int x) __attribute__((ifunc("choose")));

static char order[8];
__attribute__((constructor(101))) static void first(void) { strcat(order, "a"); }
__attribute__((constructor(102))) static void second(void) { strcat(order, "b"); }
__attribute__((destructor)) static void last(void) { printf("end %s\n", order); }

__attribute__((section("own_section"), used)) static int in_section = 11;
extern int __start_own_section[], __stop_own_section[];
__attribute__((visibility("hidden"))) int hidden = 4;
__attribute__((section(".text.elsewhere"), noinline)) static int elsewhere(int x) { return x ^ 0x55; }

static inline int inlined(int x) { return x * x; }
extern inline __attribute__((gnu_inline)) int only_inline(int x) { return x + 100; }

__attribute__((noinline)) static double add(int count, ...) {
  va_list list, again;
  va_start(list, count);
  va_copy(again, list);
  double sum = 0;
  for (int i = 0; i < count; i++)
    sum += i % 2 ? va_arg(list, double) : va_arg(list, int);
  sum += va_arg(again, int);
  va_end(list);
  va_end(again);
  return sum;
}

__attribute__((noinline)) static int through(const char *format, ...) {
  char text[40];
  va_list list;
  va_start(list, format);
  int length = vsnprintf(text, sizeof text, format, list);
  va_end(list);
  return length + text[0];
}

typedef int (*operation)(int);
static const operation table[] = {real, other_name, fast, inlined, elsewhere};

int main(void) {
  printf("%d %d %d %d\n", absent ? absent(1) : -1, given(1), other_name(4), outside);
  printf("%d %d %d\n", chosen(10), hidden, in_section);
  printf("%d\n", (int)(__stop_own_section - __start_own_section));
  for (int i = 0; i < 5; i++)
    printf("%d ", table[i](6 + i));
  printf("\n%g %d\n", add(4, 1, 2.5, 3, 4.5), through("%d-%s", 77, "x"));
  static const char *const words[] = {"nameless", "strings", "here"};
  for (int i = 0; i < 3; i++)
    printf("%s ", words[i]);
  puts(__func__);
  return 0;
}
