// Copies of texts that the library allocates, and texts that it prints to memory of which it does not know the length.
// RUN: %remote %S/Inputs/duplicates.toml %s
// RUN: farside-cc -O2 -g -Rfarside -fsections=%S/Inputs/duplicates.toml %s -o %t 2>&1 | FileCheck %s --implicit-check-not='does not go'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { count = 2000 };

__attribute__((noinline)) static char **make(int argc) {
  char **all = malloc(count * sizeof *all);
  char line[64];
  for (int i = 0; i < count; i++) {
    snprintf(line, sizeof line, "%d names are %s", i * argc, i % 2 ? "odd" : "not");
    // CHECK-DAG: duplicates.c:[[@LINE+1]]: remark: what is allocated here goes to the section 'texts'
    all[i] = i % 3 ? strdup(line) : strndup(line, i % 30);
  }
  return all;
}

// One that ends where a line does, and one that is nothing.
__attribute__((noinline)) static size_t edges(const char *empty) {
  // CHECK-DAG: duplicates.c:[[@LINE+1]]: remark: what is allocated here goes to the section 'texts'
  char *nothing = strdup(empty), *most = strndup("sixty-three letters and no more are what is in this text, to end", 63);
  size_t length = strlen(nothing) * 100 + strlen(most);
  free(nothing);
  free(most);
  return length;
}

__attribute__((noinline)) static char *make_page(size_t length) {
  // CHECK-DAG: duplicates.c:[[@LINE+1]]: remark: what is allocated here goes to the section 'page'
  return malloc(length);
}

__attribute__((noinline)) static void print(char *page, char **all, int argc) {
  char *at = page;
  for (int i = 0; i < count; i++) {
    int length = sprintf(at, "%5d: '%s', %s; %g\n", i, all[i], all[i * 7 % count], i * 0.5 * argc);
    at += length;
    if (i % 5 == 0) at += sprintf(at, "%s", "");
  }
}

int main(int argc, char **argv) {
  char **all = make(argc);
  char *page = make_page(count * 100);
  print(page, all, argc);
  unsigned long sum = 0;
  for (char *at = page; *at; at++) sum = sum * 31 + (unsigned char)*at;
  printf("%lu %zu %zu\n", sum, strlen(page), edges(argc > 5 ? "some" : ""));
  for (int i = 0; i < count; i++) free(all[i]);
  free(all);
  free(page);
}
