// A function that reads what each thread has of its own runs here: where that is is not known where the program is linked.
// RUN: env FARSIDE_OFFLOAD=always LEVELS=-O2 %remote %S/Inputs/own_offload.toml %s -pthread
// RUN: farside-cc -O2 -g -Rfarside -fsections=%S/Inputs/own_offload.toml %s -pthread -o %t 2>&1 | FileCheck %s
// CHECK: remark: what is allocated here goes to the section 'own'
// CHECK: remark: function 'total' runs here: it reads what is in the section 'own', of which each thread has its own
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

enum { threads = 3, count = 20000 };

static long total(const long *all, long n) {
  long sum = 0;
  for (long i = 0; i < n; i++)
    sum = sum * 3 + all[i];
  return sum;
}

static int work(void *which) {
  long k = (long)which;
  long *all = malloc(count * sizeof *all);
  for (long i = 0; i < count; i++)
    all[i * 7 % count] = i ^ k;
  long sum = total(all, count) + total(all, count / 2);
  free(all);
  return (int)(sum & 0xfffff);
}

int main(void) {
  thrd_t ids[threads];
  for (long k = 0; k < threads; k++)
    if (thrd_create(&ids[k], work, (void *)k) != thrd_success)
      return 1;
  printf("%d\n", work((void *)5));
  for (long k = 0; k < threads; k++) {
    int result;
    thrd_join(ids[k], &result);
    printf("%d\n", result);
  }
  return 0;
}
