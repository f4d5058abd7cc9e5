// Texts are copied and appended from and to sections, line by line.
// RUN: %remote %S/Inputs/texts.toml %s
// RUN: sed '1i threads = true' %S/Inputs/texts.toml > %t.threads.toml
// RUN: %remote %t.threads.toml %s
// RUN: farside-cc -O2 -fsections=%S/Inputs/texts.toml -emit-rmem %s -o - | FileCheck %s
// RUN: farside-cc -O2 -g -c -Rfarside -fno-farside-link -fsections=%S/Inputs/texts.toml %s -o /dev/null 2>&1 | \
// RUN:   FileCheck %s --check-prefix=GOES --implicit-check-not='does not go'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 300, LONGEST = 400 };

// GOES: what is allocated here goes to the section 'short'
static char *new_short(void) { return calloc(COUNT, LONGEST); }
// GOES: what is allocated here goes to the section 'long'
static char *new_long(void) { return calloc(COUNT, LONGEST); }

static unsigned long state = 1;
static unsigned long draw(void) { return (state = state * 6364136223846793005ul + 1442695040888963407ul) >> 33; }

// CHECK-LABEL: llvm.func {{.*}}@fill(
// CHECK-NOT: @strcpy
// CHECK: rmem.move
__attribute__((noinline)) static void fill(char *texts, const char *const *words) {
  for (long i = 0; i < COUNT; i++)
    strcpy(texts + i * LONGEST + draw() % 70, words[draw() % 3]);
}

// Within one section, and from one to the other; of no length, too.
// CHECK-LABEL: llvm.func {{.*}}@copy(
// CHECK: rmem.borrow @rmem.section.short {{.*}} text
// CHECK: llvm.call {{.*}}@strlen(
// CHECK: rmem.give_back @rmem.section.short
// CHECK: rmem.move
__attribute__((noinline)) static unsigned long copy(char *to, char *from) {
  unsigned long all = 0;
  for (long i = 0; i < COUNT; i++) {
    char *source = from + i * LONGEST + i % 3 * 23, *target = to + i * LONGEST;
    all = all * 31 + (strcpy(target, source) == target);
    all = all * 31 + *(stpcpy(target + 100, source + 5) - 1);
    all = all * 31 + (strcat(target, source + 7) == target);
    all = all * 31 + *((char *)mempcpy(target + 250, source, draw() % 150) - 1);
    if (i && strlen(source - LONGEST) < 60)
      strcat(strcpy(source + 290, source - LONGEST), "!");
  }
  return all;
}

// What is neither is where it was.
__attribute__((noinline)) static void here(char *one, const char *other) {
  char room[LONGEST + 30];
  stpcpy(stpcpy(room, "<"), other);
  strcat(room, ">");
  strcpy(one, room);
  printf("%s\n", room);
}

// So many characters of a text, or all, if the number is negative; what is read of one goes elsewhere.
// CHECK-LABEL: llvm.func {{.*}}@look_at(
// CHECK: rmem.borrow @rmem.section.long {{.*}} size {{.*}} text
// CHECK: llvm.call {{.*}}@printf(
// CHECK: rmem.borrow @rmem.section.long {{.*}} text
// CHECK: sscanf(
__attribute__((noinline)) static void look_at(char *texts) {
  for (int i = 0; i < 30; i++) {
    char *text = texts + i * LONGEST;
    long number = -1;
    printf("%.*s|%-*.*s|%d\n", i - 3, text, i, i % 4, text + 1, i);
    snprintf(text, LONGEST, "%d %*d", i * 3, i * 5, i);
    int count = sscanf(text, "%*d %ld", &number);
    printf("%d %ld\n", count, number);
  }
}

static unsigned long sum(const char *texts) {
  unsigned long all = 0;
  for (long i = 0; i < COUNT * LONGEST; i++)
    all = all * 31 + texts[i];
  return all;
}

int main(int count, char **arguments) {
  const char *words[] = {"", "a word", "some more words than fit into one line, and in most places more than into two, however they lie"};
  char *small = new_short(), *large = new_long(), *plain = calloc(1, 2 * LONGEST);
  if (count > 100)
    puts(arguments[count - 1]);
  fill(small, words);
  fill(large, words);
  printf("%lx\n", copy(large, small));
  printf("%lx\n", copy(small, large));
  printf("%lx %lx\n", sum(small), sum(large));
  here(plain, words[1]);
  here(small, words[2]);
  here(large, small);
  printf("%lx %s\n", sum(large), plain);
  look_at(large);
  free(small);
  free(large);
  free(plain);
}
