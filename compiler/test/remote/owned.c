// What only the main thread uses is its own, whatever other threads do with other sections.
// RUN: %remote %S/Inputs/owned.toml %s -pthread
// RUN: farside-cc -O2 -g -Rfarside -fsections=%S/Inputs/owned.toml %s -pthread -o %t 2>&1 | FileCheck %s
// RUN: llvm-readelf --string-dump=.farside.notes %t | FileCheck %s --check-prefix=NOTES
// CHECK: remark: several threads may use the section 'common', which makes each access dearer: 'work'
// CHECK-NOT: several threads may use
// NOTES: "section":"common","threads":true,"ways":1
// NOTES-SAME: "section":"own","ways":1
// Unless it shares memory with them: then its lines leave when they miss.
// RUN: sed '/section.own/a with = "common"' %S/Inputs/owned.toml > %t.toml
// RUN: %remote %t.toml %s -pthread
// RUN: farside-cc -O2 -g -fsections=%t.toml %s -pthread -o %t
// RUN: llvm-readelf --string-dump=.farside.notes %t | FileCheck %s --check-prefix=SHARED
// SHARED: "section":"common","threads":true,"ways":1
// SHARED-SAME: "section":"own","threads":true,"ways":1
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { count = 20000 };

static long *common, *own;

static void *work(void *argument) {
  for (long i = 0; i < count; i++)
    common[i] = i * (long)argument;
  return NULL;
}

int main(void) {
  pthread_t id;
  common = calloc(count, sizeof *common);
  own = calloc(count, sizeof *own);
  if (pthread_create(&id, NULL, work, (void *)3))
    return 1;
  for (long i = 0; i < count; i++)
    own[i * 7 % count] = i;
  pthread_join(id, NULL);
  long all = 0;
  for (long i = 0; i < count; i++)
    all = all * 3 + (common[i] ^ own[i]);
  printf("%ld\n", all);
  free(common);
  free(own);
  return 0;
}
