// Functions and allocations are counted, if the environment says where to.
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: clang -O2 %s -o plain
// RUN: farside-cc -O2 -ffarside-profile %s -o program
// RUN: ./plain > expected
// RUN: ./program | cmp expected -
// RUN: ls | FileCheck %s --check-prefix=FILES
// FILES: expected
// FILES-NEXT: plain
// FILES-NEXT: program
// FILES-NOT: {{.}}
// RUN: env FARSIDE_PROFILE=made.json ./program | cmp expected -
// RUN: %S/Inputs/profile show made.json | FileCheck %s
// RUN: ls | FileCheck %s --check-prefix=MADE
// MADE: expected
// MADE-NEXT: made.json
// MADE-NEXT: plain
// MADE-NEXT: program
// MADE-NOT: {{.}}

// What cannot be written only complains.
// RUN: env FARSIDE_PROFILE=nowhere/made.json ./program 2> complaint | cmp expected -
// RUN: FileCheck %s --check-prefix=COMPLAINT < complaint
// COMPLAINT: farside: cannot write the profile {{.*}}nowhere/made.json: No such file or directory
// COMPLAINT-NOT: {{.}}
// RUN: not env FARSIDE_PROFILE=nowhere/made.json ./program fails
// RUN: not env FARSIDE_PROFILE=failed.json ./program fails
// RUN: %S/Inputs/profile show failed.json | FileCheck %s

// The same for units that are converted one by one, which have one profile; and without optimization.
// RUN: farside-cc -O2 -fno-farside-link -ffarside-profile %s -o program
// RUN: env FARSIDE_PROFILE=one.json ./program | cmp expected -
// RUN: %S/Inputs/profile show one.json | FileCheck %s
// RUN: farside-cc -ffarside-profile %s -o program
// RUN: env FARSIDE_PROFILE=slow.json ./program | cmp expected -
// RUN: %S/Inputs/profile show slow.json | FileCheck %s
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>

__attribute__((noinline)) static long mix(long *numbers, long count) {
  for (long i = 0; i < count; i++)
    numbers[i] = numbers[i] * 31 + i;
  return numbers[count - 1];
}

// One that calls itself is counted each time.
__attribute__((noinline)) static long down(long *numbers, long count) {
  return count > 1 ? down(numbers, count / 2) + mix(numbers, count) : 0;
}

__attribute__((noinline)) static long *grow(long count) {
  long *numbers = calloc(count, sizeof *numbers);
  numbers = realloc(numbers, 2 * count * sizeof *numbers);
  for (long i = count; i < 2 * count; i++)
    numbers[i] = i;
  return numbers;
}

int main(int count, char **arguments) {
  // CHECK-DAG: function main counts.c calls 1
  // CHECK-DAG: function grow counts.c calls 3
  // CHECK-DAG: function down counts.c calls 33
  // CHECK-DAG: function mix counts.c calls 30
  // CHECK-DAG: site counts.c:54:19 grow blocks 3 bytes 24576 peak_bytes 8192 largest 8192
  // CHECK-DAG: site counts.c:55:13 grow blocks 3 bytes 49152 peak_bytes 32768 largest 16384
  // CHECK: cut False
  long sum = 0, *kept = grow(1024);
  for (int i = 0; i < 2; i++) {
    long *numbers = grow(1024);
    sum += down(numbers, 1024);
    free(numbers);
  }
  sum += down(kept, 1024);
  fflush(stdout);
  // A child has no part in it.
  pid_t child = fork();
  if (child == 0) {
    free(malloc(sum & 15));
    exit(down(kept, 1024) & 1);
  }
  int status;
  waitpid(child, &status, 0);
  printf("%ld %d\n", sum, status);
  // It may end anywhere, and be anywhere.
  if (chdir("/"))
    return 2;
  exit(count > 1);
}
