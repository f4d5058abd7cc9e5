// What is destroyed when the program ends is destroyed by the main thread, unless another one ends it.
// REQUIRES: farside
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: farside-c++ -O2 -g -ffarside-profile %s -o profiled
// RUN: %S/../profile/Inputs/candidates sections profiled > at_end.toml
// RUN: farside-c++ -O2 -g -fsections=at_end.toml %s -o alone
// RUN: %farside explain alone | FileCheck %s --implicit-check-not='for several threads'
// CHECK: accesses converted
// RUN: farside-c++ -O2 -g -DANOTHER -fsections=at_end.toml %s -o threads
// RUN: %farside explain threads | FileCheck %s --check-prefix=THREADS
// THREADS: for several threads
// RUN: %remote at_end.toml %s -g
// RUN: %remote at_end.toml %s -g -DANOTHER
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <thread>

static std::map<int, std::list<long>> all;
static long destroyed;

struct Last {
  ~Last() { std::printf("%ld\n", destroyed); }
} last;

struct Counted {
  ~Counted() {
    for (const auto &[key, numbers] : all)
      for (long number : numbers)
        destroyed = destroyed * 31 + key + number;
  }
} counted;

static void work() {
  for (int i = 0; i < 20000; i++)
    all[i * 7919 % 1009].push_back(i);
  std::printf("%zu\n", all.size());
}

int main() {
#ifdef ANOTHER
  work();
  std::thread([] { std::exit(0); }).join();
#else
  std::thread([] { std::printf("here\n"); }).join();
  work();
#endif
  return 0;
}
