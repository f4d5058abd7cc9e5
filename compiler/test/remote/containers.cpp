// Trees and lists of the C++ library: what balances and links them is defined in the program, and converted.
// RUN: %remote %S/Inputs/containers.toml %s
// RUN: farside-c++ -O2 -g -Rfarside -fsections=%S/Inputs/containers.toml %s -o %t 2>&1 | FileCheck %s --implicit-check-not='does not go'
// RUN: llvm-readelf --string-dump=.farside.notes %t | FileCheck %s --check-prefix=NOTES
// NOTES: _Rb_tree_insert_and_rebalance
// Other libraries go on with what the C++ library has.
// RUN: llvm-nm %t | FileCheck %s --check-prefix=NAMES
// NAMES-NOT: {{[TW]}} _ZSt29_Rb_tree_insert_and_rebalance
#include <cstdio>
#include <list>
#include <map>
#include <set>

using table = std::map<long, long>;
using words = std::multiset<int>;
using queue = std::list<long>;

enum { COUNT = 3000 };

// CHECK-DAG: goes to the section 'table'
__attribute__((noinline)) static table make_table(long count) {
  table all;
  for (long i = 0; i < count; i++)
    all[i * 7919 % count] += i;
  for (long i = 0; i < count; i += 3)
    all.erase(i);
  return all;
}

// CHECK-DAG: goes to the section 'words'
__attribute__((noinline)) static words make_words(long count) {
  words all;
  for (long i = 0; i < count; i++)
    all.insert(i * 31 % 97);
  all.erase(13);
  return all;
}

// CHECK-DAG: goes to the section 'queue'
__attribute__((noinline)) static queue make_queue(long count) {
  queue all;
  for (long i = 0; i < count; i++)
    if (i % 3)
      all.push_back(i);
    else
      all.push_front(i * 7);
  return all;
}

__attribute__((noinline)) static long total(const table &all) {
  long sum = 0;
  for (auto &[key, value] : all)
    sum = sum * 3 + key + value;
  for (auto at = all.rbegin(); at != all.rend(); ++at)
    sum = sum * 5 + at->second;
  for (long i = 0; i < 500; i++)
    if (auto at = all.lower_bound(i * 11); at != all.end())
      sum += at->first;
  return sum;
}

__attribute__((noinline)) static long count(const words &all) {
  long sum = 0;
  for (int i = 0; i < 120; i++)
    sum = sum * 3 + long(all.count(i));
  return sum;
}

__attribute__((noinline)) static long drain(queue &all) {
  queue odd;
  for (auto at = all.begin(); at != all.end();) {
    auto next = std::next(at);
    if (*at % 2)
      odd.splice(odd.end(), all, at);
    at = next;
  }
  odd.reverse();
  odd.sort();
  all.sort();
  all.merge(odd);
  all.remove(14);
  std::swap(all, odd);
  long sum = 0;
  while (!odd.empty()) {
    sum = sum * 3 + odd.front() - odd.back();
    odd.pop_front();
  }
  return sum;
}

int main(int argc, char **) {
  table table = make_table(COUNT * argc);
  words words = make_words(COUNT * argc);
  queue queue = make_queue(COUNT * argc);
  std::printf("%ld %zu\n", total(table), table.size());
  std::printf("%ld %zu\n", count(words), words.size());
  std::printf("%ld\n", drain(queue));
}
