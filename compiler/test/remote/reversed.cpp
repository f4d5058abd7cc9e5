// Iterators that hold nothing but a pointer are copied as numbers: what a vector holds can be in a section though it is gone
// through from its end, and sorted so.
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: farside-c++ -O2 -g -ffarside-profile %s -o profiled
// RUN: %S/../profile/Inputs/candidates show profiled | FileCheck %s --implicit-check-not='stays:'
// CHECK: site {{[0-9]+}} reversed.cpp
// RUN: %S/../profile/Inputs/candidates sections profiled > reversed.toml
// RUN: %remote reversed.toml %s -g
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

using Pair = std::pair<long, std::string>;

static std::vector<Pair> make(long count) {
  std::vector<Pair> pairs;
  for (long i = 0; i < count; i++)
    pairs.push_back({i * 7919 % 1009, std::string(static_cast<size_t>(i % 23), static_cast<char>('a' + i % 26))});
  return pairs;
}

int main(int argc, char **argv) {
  long count = argc > 1 ? std::atol(argv[1]) : 3000;
  std::vector<Pair> pairs = make(count);
  std::sort(pairs.rbegin(), pairs.rend());
  unsigned long sum = 0;
  for (const Pair &pair : pairs)
    sum = sum * 31 + static_cast<unsigned long>(pair.first) * pair.second.size();
  std::reverse(pairs.begin(), pairs.end());
  for (auto at = pairs.rbegin(); at != pairs.rend(); ++at)
    sum = sum * 33 + (at->second.empty() ? 7 : static_cast<unsigned char>(at->second.front()));
  auto found = std::find_if(pairs.rbegin(), pairs.rend(), [](const Pair &pair) { return pair.first == 500; });
  std::printf("%lu %ld\n", sum, static_cast<long>(found - pairs.rbegin()));
  return 0;
}
