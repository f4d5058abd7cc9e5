// Functions of the C library are lent local memory in place of what is in sections.
// RUN: %remote %S/Inputs/library.toml %s
// RUN: sed '1i threads = true' %S/Inputs/library.toml > %t.threads.toml
// RUN: %remote %t.threads.toml %s
// RUN: farside-cc -O2 -fsections=%S/Inputs/library.toml -emit-rmem %s -o - | FileCheck %s
// RUN: farside-cc -O2 -g -c -Rfarside -fno-farside-link -fsections=%S/Inputs/library.toml %s -o /dev/null 2>&1 | \
// RUN:   FileCheck %s --check-prefix=GOES --implicit-check-not='does not go'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES = 400, LONGEST = 200, RECORDS = 500, NUMBERS = 20000 };

struct record {
  struct record *next;
  long key;
  char name[83];
};

// GOES: what is allocated here goes to the section 'names'
static char *new_names(void) { return calloc(NAMES, LONGEST); }
// GOES: what is allocated here goes to the section 'records'
static struct record *new_records(void) { return calloc(RECORDS, sizeof(struct record)); }
// GOES: what is allocated here goes to the section 'numbers'
static long *new_numbers(void) { return malloc(NUMBERS * sizeof(long)); }

static unsigned long state = 1;
static unsigned long draw(void) { return (state = state * 6364136223846793005ul + 1442695040888963407ul) >> 33; }

// Names of all lengths, on both sides of the ends of lines.
// CHECK-LABEL: llvm.func {{.*}}@name_all(
// CHECK: rmem.borrow @rmem.section.names {{.*}} size
// CHECK: llvm.call {{.*}}@snprintf(
// CHECK: rmem.give_back @rmem.section.names {{.*}} written
__attribute__((noinline)) static void name_all(char *names) {
  for (long i = 0; i < NAMES; i++) {
    char *name = names + i * LONGEST;
    snprintf(name, LONGEST, "%0*lu-%lu", (int)(draw() % 190 + 1), draw() % 10, i);
  }
}

// CHECK-LABEL: llvm.func {{.*}}@look_at(
// CHECK: rmem.borrow @rmem.section.names {{.*}} text
// CHECK: llvm.call {{.*}}@strlen(
// CHECK: rmem.give_back @rmem.section.names
__attribute__((noinline)) static unsigned long look_at(char *names) {
  unsigned long all = 0;
  for (long i = 0; i + 1 < NAMES; i++) {
    char *name = names + i * LONGEST, *next = name + LONGEST;
    all = all * 31 + strlen(name);
    all = all * 31 + strnlen(name, 70);
    all = all * 31 + (strcmp(name, next) > 0) + 2 * (strncmp(name, next, i % 100) > 0);
    all = all * 31 + (memcmp(name, next, i % LONGEST) > 0);
    char *dash = strchr(name, '-');
    all = all * 31 + (dash - name);
    all = all * 31 + (strrchr(name, '0') ? strrchr(name, '0') - name : -1);
    all = all * 31 + (strchr(name, '#') != NULL);
    char *found = memchr(name, '-', 150);
    all = all * 31 + (found ? found - name : 7);
    if (found)
      *found = '+';
    char *inside = strstr(next, "-1");
    all = all * 31 + (inside ? atol(inside + 1) : 5);
    all = all * 31 + strspn(name, "0123456789") + strtoul(name + strlen(name) - 1, NULL, 10);
  }
  return all;
}

// CHECK-LABEL: llvm.func {{.*}}@fill_in(
// CHECK: rmem.borrow @rmem.section.names {{.*}} text
// CHECK: llvm.call {{.*}}@strncpy(
__attribute__((noinline)) static struct record *fill_in(struct record *records, const char *names) {
  struct record *first = NULL;
  for (long i = 0; i < RECORDS; i++) {
    records[i].next = first;
    records[i].key = draw() % 1000;
    char *copied = strncpy(records[i].name, names + i % NAMES * LONGEST, sizeof records[i].name - 1);
    copied[0] = 'a' + i % 26;
    first = &records[i];
  }
  return first;
}

__attribute__((noinline)) static void print(const struct record *first) {
  for (const struct record *at = first; at; at = at->next)
    if (at->key % 7 == 0)
      printf("%ld %-20s|%s\n", at->key, at->name, at->next ? at->next->name + 80 : "none");
    else if (at->key % 7 == 1)
      puts(at->name);
    else
      fputs(at->name + 70, stdout);
  putchar('\n');
}

static int compare(const void *one, const void *other) {
  long left = *(const long *)one, right = *(const long *)other;
  return (left > right) - (left < right);
}

// CHECK-LABEL: llvm.func {{.*}}@sort(
// CHECK: rmem.borrow @rmem.section.numbers {{.*}} size {{.*}} copied
// CHECK: llvm.call {{.*}}@qsort(
// CHECK: rmem.give_back @rmem.section.numbers {{.*}} written
__attribute__((noinline)) static void sort(long *numbers) { qsort(numbers, NUMBERS, sizeof(long), compare); }

// Of one line each, and more often than a line can be pinned.
__attribute__((noinline)) static void sort_parts(long *numbers) {
  for (long i = 0; i < 3000; i++)
    qsort(numbers + i % 7 * 8, 6, sizeof(long), compare);
}

// To a file and back, also where nothing comes and where it ends early.
__attribute__((noinline)) static unsigned long through_file(long *numbers) {
  unsigned long all = 0;
  FILE *file = tmpfile();
  if (!file)
    exit(1);
  all += fwrite(numbers, sizeof(long), NUMBERS, file);
  all += fwrite(numbers, sizeof(long), 0, file);
  rewind(file);
  memset(numbers, 0, NUMBERS / 2 * sizeof(long));
  all = all * 31 + fread(numbers + 10, sizeof(long), NUMBERS - 10, file);
  all = all * 31 + fread(numbers, 100, 100, file);
  all = all * 31 + fread(numbers, 100, 100, file);
  fflush(file);
  int number = fileno(file);
  all = all * 31 + pread(number, numbers + 5, 3000, 80);
  all = all * 31 + pread(number, numbers + 5, 3000, NUMBERS * sizeof(long) - 1000);
  all = all * 31 + pwrite(number, numbers, 5000, 100);
  all = all * 31 + pread(number, numbers, NUMBERS * sizeof(long), 0);
  fclose(file);
  for (long i = 0; i < NUMBERS; i++)
    all = all * 31 + numbers[i];
  return all;
}

int main(void) {
  char *names = new_names();
  struct record *records = new_records();
  long *numbers = new_numbers();
  name_all(names);
  printf("%lx\n", look_at(names));
  print(fill_in(records, names));
  for (long i = 0; i < NUMBERS; i++)
    numbers[i] = draw();
  sort_parts(numbers);
  for (long i = 0; i < 60; i++)
    printf("%ld ", numbers[i]);
  sort(numbers);
  for (long i = 1; i < NUMBERS; i++)
    if (numbers[i - 1] > numbers[i])
      puts("not in order");
  printf("%lx\n", through_file(numbers));
  // What is not in a section is what it was.
  char here[] = "here and there";
  char *copy = strdup(names);
  printf("%s %zu %s\n", strchr(here, 'a'), strlen(copy), strcmp(copy, names) ? "differs" : "same");
  free(copy);
  free(names);
  free(records);
  free(numbers);
}
