// What is aligned is a site as others are, and counted, also where it is in sections; of posix_memalign() it is what is stored.
// RUN: farside-c++ -O2 -ffarside-profile %s -o %t
// RUN: %S/Inputs/candidates show %t | FileCheck %s
// RUN: env FARSIDE_PROFILE=%t.json %t > %t.out
// RUN: %S/Inputs/profile show %t.json | FileCheck %s --check-prefix=COUNT
// RUN: %S/Inputs/candidates sections %t > %t.toml
// RUN: farside-c++ -O2 -Rfarside -ffarside-profile -fsections=%t.toml %s -o %t.converted 2>&1 | FileCheck %s --check-prefix=MARKED
// RUN: env FARSIDE_PROFILE=%t.json %t.converted | cmp %t.out -
// RUN: %S/Inputs/profile show %t.json | FileCheck %s --check-prefix=COUNT
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

struct alignas(64) Row {
  long numbers[8];
};

__attribute__((noinline)) static Row *rows_of(size_t count) {
  // CHECK-DAG: site {{[0-9]+}} aligned.cpp:[[@LINE+3]]:{{[0-9]+}} rows_of class
  // MARKED-DAG: aligned.cpp:[[@LINE+2]]: remark: what is allocated here goes to the section 'class
  // COUNT-DAG: site aligned.cpp:[[@LINE+1]]:{{[0-9]+}} rows_of blocks 2 bytes 8960 peak_bytes 6400 largest 6400
  return new Row[count];
}

__attribute__((noinline)) static long *numbers_of(size_t alignment, size_t count) {
  // CHECK-DAG: site {{[0-9]+}} aligned.cpp:[[@LINE+3]]:{{[0-9]+}} numbers_of class
  // MARKED-DAG: aligned.cpp:[[@LINE+2]]: remark: what is allocated here goes to the section 'class
  // COUNT-DAG: site aligned.cpp:[[@LINE+1]]:{{[0-9]+}} numbers_of blocks 3 bytes 2400 peak_bytes 800 largest 800
  return static_cast<long *>(aligned_alloc(alignment, count * sizeof(long)));
}

__attribute__((noinline)) static int stored_in(void **place, size_t alignment, size_t size) {
  // CHECK-DAG: site {{[0-9]+}} aligned.cpp:[[@LINE+3]]:{{[0-9]+}} stored_in class
  // MARKED-DAG: aligned.cpp:[[@LINE+2]]: remark: what is allocated here goes to the section 'class
  // COUNT-DAG: site aligned.cpp:[[@LINE+1]]:{{[0-9]+}} stored_in blocks 4 bytes 3200 peak_bytes 800 largest 800
  return posix_memalign(place, alignment, size);
}

int main() {
  long sum = 0;
  for (size_t count : {100, 40}) {
    Row *rows = rows_of(count);
    for (size_t i = 0; i < count; i++)
      rows[i].numbers[3] = static_cast<long>(i);
    for (size_t i = 0; i < count; i++)
      sum = sum * 3 + rows[i].numbers[3];
    delete[] rows;
  }
  for (size_t alignment : {16, 64, 256}) {
    long *numbers = numbers_of(alignment, 100);
    for (long i = 0; i < 100; i++)
      numbers[i] = i * sum;
    sum += numbers[sum % 100 < 0 ? -(sum % 100) : sum % 100];
    free(numbers);
  }
  // Those of which one fails.
  for (size_t alignment : {8, 24, 64, 256, 4096}) {
    void *place = nullptr;
    if (stored_in(&place, alignment, 100 * sizeof(long)))
      continue;
    long *numbers = static_cast<long *>(place);
    for (long i = 0; i < 100; i++)
      numbers[i] = i ^ sum;
    for (long i = 0; i < 100; i++)
      sum = sum * 7 + numbers[i];
    free(numbers);
  }
  std::printf("%ld\n", sum);
}
