// Deques, whose map of blocks is allocated, gone through and grown in functions of the library, and what is made of them.
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: farside-c++ -O2 -g -ffarside-profile %s -o profiled
// RUN: %S/../profile/Inputs/candidates show profiled | FileCheck %s --implicit-check-not='stays:'
// CHECK-DAG: site {{[0-9]+}} _M_push_back_aux<long> of no line
// CHECK-DAG: site {{[0-9]+}} _M_reallocate_map of no line
// RUN: %S/../profile/Inputs/candidates sections profiled > deques.toml
// RUN: farside-c++ -O2 -g -Rfarside -fsections=deques.toml %s -o converted 2>&1 | \
// RUN:   FileCheck %s --check-prefix=GOES --implicit-check-not='does not go'
// GOES: what is allocated here goes to the section
// RUN: %remote deques.toml %s -g
#include <cstdio>
#include <deque>
#include <queue>
#include <string>
#include <vector>

__attribute__((noinline)) static std::deque<long> make_numbers(long count) {
  std::deque<long> numbers;
  for (long i = 0; i < count; i++)
    if (i % 3)
      numbers.push_back(i);
    else
      numbers.push_front(i * 7);
  return numbers;
}

__attribute__((noinline)) static long drain(std::deque<long> &numbers) {
  long sum = 0;
  for (long each : numbers)
    sum = sum * 3 + each;
  while (numbers.size() > 100) {
    sum += numbers.front() * numbers.back();
    numbers.pop_front();
    numbers.pop_back();
  }
  numbers.insert(numbers.begin() + 5, 17);
  numbers.erase(numbers.begin() + 7);
  return sum + numbers[9];
}

int main(int argc, char **) {
  std::deque<long> numbers = make_numbers(20000 * argc);
  std::queue<std::string> waiting;
  std::priority_queue<long> largest;
  std::vector<bool> seen(3000);
  long sum = drain(numbers);
  for (long i = 0; i < 5000; i++) {
    waiting.push("number " + std::to_string(i * i));
    largest.push(i * 7919 % 5003);
    seen[i * 31 % 3000] = i % 2;
    if (i % 3 == 0) {
      sum = sum * 3 + waiting.front().back();
      waiting.pop();
    }
  }
  for (; !largest.empty(); largest.pop())
    sum = sum * 5 + largest.top() + seen[largest.top() % 3000];
  std::printf("%ld %zu %zu\n", sum, numbers.size(), waiting.size());
}
