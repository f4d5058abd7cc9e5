// Vectors, what pointers in them lead to, and how long they are; hash tables.
// RUN: %remote %S/Inputs/vectors.toml %s
// RUN: farside-c++ -O2 -g -c -Rfarside -fno-farside-link -ffarside-whole-program -fsections=%S/Inputs/vectors.toml %s -o /dev/null 2>&1 | \
// RUN:   FileCheck %s --implicit-check-not='does not go'
#include <algorithm>
#include <cstdio>
#include <string>
#include <unordered_map>
#include <vector>

struct order {
  long id, amount;
  int kind;
};

struct node {
  node *next;
  long key;
};

enum { COUNT = 6000 };

// CHECK-DAG: goes to the section 'orders'
__attribute__((noinline)) static std::vector<order> make_orders(long count) {
  std::vector<order> orders;
  for (long i = 0; i < count; i++)
    orders.push_back({i, i * 7 % 13, int(i % 3)});
  return orders;
}

// CHECK-DAG: goes to the section 'numbers'
__attribute__((noinline)) static std::vector<long> make_numbers(long count) {
  std::vector<long> numbers(count);
  for (long i = 0; i < count; i++)
    numbers[i] = i * 31 % count;
  return numbers;
}

// CHECK-DAG: goes to the section 'nodes'
__attribute__((noinline)) static node *make_node(node *next, long key) { return new node{next, key}; }

// A length of nothing, if there is nothing.
// CHECK-DAG: goes to the section 'chains'
__attribute__((noinline)) static std::vector<node *> make_chains(long count) {
  std::vector<node *> heads(count / 4);
  for (long i = 0; i < count; i++) {
    node *&head = heads[i % heads.size()];
    head = make_node(head, i);
  }
  return heads;
}

__attribute__((noinline)) static long total(const std::vector<order> &orders, const std::vector<long> &numbers) {
  long sum = 0;
  for (const order &each : orders)
    sum += each.amount * numbers[each.id];
  return sum;
}

__attribute__((noinline)) static long walk(const std::vector<node *> &heads) {
  long sum = 0;
  for (const node *each : heads)
    for (; each; each = each->next)
      sum = sum * 3 + each->key;
  return sum;
}

__attribute__((noinline)) static void clear(std::vector<node *> &heads) {
  for (node *each : heads)
    while (each) {
      node *next = each->next;
      delete each;
      each = next;
    }
  heads.clear();
}

using table = std::unordered_map<long, long>;

// CHECK-DAG: goes to the section 'table'
__attribute__((noinline)) static table make_table(long count) {
  table table;
  for (long i = 0; i < count; i++)
    table[i * 7919 % (count / 2)] += i;
  for (long i = 0; i < count; i += 5)
    table.erase(i);
  return table;
}

__attribute__((noinline)) static long look_up(const table &table, long count) {
  long sum = 0;
  for (long i = 0; i < count; i++)
    if (auto found = table.find(i * 31 % count); found != table.end())
      sum = sum * 7 + found->second;
  for (auto &[key, value] : table)
    sum += key ^ value;
  return sum;
}

int main(int argc, char **) {
  std::vector<order> orders = make_orders(COUNT * argc);
  std::vector<long> numbers = make_numbers(COUNT * argc);
  std::vector<node *> chains = make_chains(COUNT * argc);
  std::printf("%ld %ld\n", total(orders, numbers), walk(chains));
  numbers.resize(numbers.size() / 2);
  numbers.insert(numbers.begin() + 5, 17);
  orders.erase(orders.begin() + 10, orders.begin() + 500);
  long sum = 0;
  for (size_t i = 0; i < numbers.size(); i++)
    sum = sum * 5 + numbers[i] + long(orders.size());
  std::printf("%ld\n", sum);
  table table = make_table(COUNT * argc);
  std::printf("%ld %zu\n", look_up(table, COUNT * argc), table.size());
  clear(chains);
}
