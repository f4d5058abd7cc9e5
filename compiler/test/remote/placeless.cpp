// What keeps an allocation in paged memory may be at no line of its own; its file is told then, also of what is converted when it is
// linked, where the module has a name that nobody gave it.
// RUN: farside-c++ -O2 -g -fsections=%S/Inputs/placeless.toml %s -o %t
// RUN: llvm-readelf --string-dump=.farside.notes %t | FileCheck %s
// CHECK: "because":"{{[^"]*}}placeless.cpp
// CHECK-NOT: ld-temp
#include <cstdint>
#include <cstdio>
#include <vector>

struct Customer {
  uint64_t id;
  double spent;
  Customer *next;
};

struct Table {
  std::vector<Customer *> buckets;
  explicit Table(size_t count) : buckets(count) {}
  void add(uint64_t id) {
    auto *customer = new Customer{};
    customer->id = id;
    Customer *&head = buckets[id * 0x9e3779b97f4a7c15u % buckets.size()];
    customer->next = head;
    head = customer;
  }
  Customer *find(uint64_t id) {
    for (Customer *at = buckets[id * 0x9e3779b97f4a7c15u % buckets.size()]; at; at = at->next)
      if (at->id == id) return at;
    return nullptr;
  }
};

// What it does with an address is done before the loop, where nothing of the source is.
__attribute__((noinline)) static uint64_t spread(const Customer *customer, int rounds) {
  uint64_t all = 0;
  for (int i = 0; i < rounds; i++) all = all * 3 + (reinterpret_cast<uintptr_t>(customer) * 0x9e3779b97f4a7c15u ^ uint64_t(i));
  return all;
}

int main(int argc, char **) {
  Table table(100 * argc);
  for (int i = 0; i < 1000; i++) table.add(i);
  for (int i = 0; i < 5000; i++)
    if (Customer *customer = table.find(i % 1500)) customer->spent += i;
  std::printf("%.1f %lu\n", table.find(7)->spent, spread(table.find(8), 10 * argc));
}
