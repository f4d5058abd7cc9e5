// Sites, accesses and functions of a program that could go to sections. What one access comes to is of one class.
// RUN: farside-cc -O2 -ffarside-profile %s -o %t
// RUN: %S/Inputs/candidates show %t | FileCheck %s
// RUN: farside-cc -O2 -ffarside-profile %s -o %t.again
// RUN: %S/Inputs/candidates show %t > %t.first
// RUN: %S/Inputs/candidates show %t.again | cmp %t.first -
// RUN: farside-cc -O2 -fno-farside-link -ffarside-profile -c %s -o %t.o
// RUN: %S/Inputs/candidates show %t.o | cmp %t.first -
// Nothing is noted in others.
// RUN: farside-cc -O2 %s -o %t.other
// RUN: llvm-readelf --sections %t.other | not grep farside.candidates
// What is said of a site in a section file names it.
// RUN: %S/Inputs/candidates sections %t > %t.toml
// RUN: farside-cc -O2 -Rfarside -fsections=%t.toml %s -o %t.converted 2>&1 | FileCheck %s --check-prefix=MARKED
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct point {
  long x, y;
};

// CHECK: unit candidates.c
// CHECK-DAG: site [[POINTS:[0-9]+]] candidates.c:[[@LINE+3]]:{{[0-9]+}} make class [[FIRST:[0-9]+]]
// MARKED-DAG: candidates.c:[[@LINE+2]]: remark: what is allocated here goes to the section 'class
__attribute__((noinline)) static struct point *make(long count) {
  return calloc(count, sizeof(struct point));
}

__attribute__((noinline)) static long sum(const struct point *points, const long *which, long count) {
  long sum = 0;
  // CHECK-DAG: load candidates.c:[[@LINE+2]] sum sites {{\[}}[[POINTS]]] size 8 loop True
  for (long i = 0; i < count; i++)
    sum = sum * 3 + points[which[i]].y;
  return sum;
}

int main(int count_of_arguments, char **arguments) {
  long count = 1000;
  struct point *points = make(count);
  // CHECK-DAG: site [[ONE:[0-9]+]] candidates.c:[[@LINE+4]]:{{[0-9]+}} main class [[BOTH:[0-9]+]]
  // CHECK-DAG: site [[OTHER:[0-9]+]] candidates.c:[[@LINE+4]]:{{[0-9]+}} main class [[BOTH]]
  // MARKED-DAG: candidates.c:[[@LINE+2]]: remark: what is allocated here goes to the section 'class
  // MARKED-DAG: candidates.c:[[@LINE+2]]: remark: what is allocated here goes to the section 'class
  long *one = malloc(count * sizeof *one);
  long *other = malloc(count * sizeof *other);
  // CHECK-DAG: site {{[0-9]+}} candidates.c:[[@LINE+1]]:{{[0-9]+}} main stays: it is passed to or comes from 'strtok', {{.*}} (candidates.c:[[@LINE+2]])
  char *text = malloc(16);
  puts(strtok(strcpy(text, "said"), " "));
  // CHECK-DAG: store candidates.c:[[@LINE+2]] main sites {{\[}}[[POINTS]]] size 8 stride 16 loop True
  for (long i = 0; i < count; i++)
    points[i].y = i * i;
  // CHECK-DAG: store candidates.c:[[@LINE+2]] main sites {{\[}}[[ONE]], [[OTHER]]] size 8 stride 8 loop True
  for (long i = 0; i < count; i++)
    one[i] = i * 7 % count;
  // CHECK-DAG: copy candidates.c:[[@LINE+1]] main sites {{\[}}[[ONE]], [[OTHER]]] size 8000 loop False
  memcpy(other, one, count * sizeof *one);
  printf("%ld\n", sum(points, count_of_arguments > 1 ? one : other, count));
  // CHECK-DAG: free candidates.c:[[@LINE+1]] main sites {{\[}}[[POINTS]]] loop False
  free(points);
  free(one), free(other), free(text);
  return 0;
  // CHECK-DAG: function make calls []{{$}}
  // CHECK-DAG: function main calls ['make', 'sum']
}
