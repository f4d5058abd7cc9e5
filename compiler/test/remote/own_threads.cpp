// Threads of the C++ library, which starts them itself; what is thrown; and what is destroyed when a thread ends.
// RUN: %remote %S/Inputs/own_threads.toml %s -pthread
// RUN: farside-c++ -O2 -g -Rfarside -fsections=%S/Inputs/own_threads.toml %s -pthread -o %t 2>&1 | FileCheck %s
// CHECK-DAG: remark: what is allocated here goes to the section 'cells'
// CHECK-DAG: remark: what is allocated here goes to the section 'words'
// CHECK-DAG: remark: what is allocated here does not go to the section 'words': it is passed to or comes from
#include <cstdio>
#include <future>
#include <thread>
#include <vector>

namespace {

struct cell {
  cell *next;
  long value;
};

thread_local cell *cells;
unsigned long results[8];

// Frees what the thread has left, after its function.
struct sweeper {
  unsigned long *place = nullptr;
  ~sweeper() {
    while (cells) {
      cell *next = cells->next;
      if (place)
        *place = *place * 31 + cells->value;
      delete cells;
      cells = next;
    }
  }
};
thread_local sweeper swept;

[[gnu::noinline]] void add(long value) {
  if (value % 1000 == 999)
    throw value;
  cells = new cell{cells, value};
}

[[gnu::noinline]] unsigned long use(long k) {
  std::vector<long> words(3000);
  unsigned long h = k;
  for (long i = 0; i < 20000; i++) {
    h = h * 6364136223846793005u + 1442695040888963407u;
    words[(h >> 33) % words.size()] += i;
    try {
      if (i % 8 == 0)
        add(h >> 40);
    } catch (long thrown) {
      h ^= thrown;
    }
  }
  for (long word : words)
    h = h * 31 + word;
  return h;
}

// What is passed on, another thread comes to.
std::vector<long> passed(long count) {
  std::vector<long> many(count, 7);
  return many;
}

} // namespace

int main() {
  std::vector<std::thread> threads;
  for (long k = 0; k < 7; k++)
    threads.emplace_back([k] {
      swept.place = &results[k];
      results[k] = use(k);
    });
  auto later = std::async(std::launch::async, [] { return use(7); });
  auto sum = std::async(std::launch::async, [](std::vector<long> many) { return many[3] + many[999]; }, passed(1000));
  results[7] = use(8);
  for (auto &thread : threads)
    thread.join();
  std::printf("%lu %ld\n", later.get(), sum.get());
  for (unsigned long result : results)
    std::printf("%lu\n", result);
}
