// What C++ allocates: objects whose constructors throw, arrays, containers, and what functions allocate for others.
// RUN: %remote %S/Inputs/new.toml %s
// RUN: farside-c++ -O2 -c -Rfarside -fno-farside-link -ffarside-whole-program -fsections=%S/Inputs/new.toml %s -o %t.o 2>&1 | FileCheck %s
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <vector>

static int alive;
struct Node {
  Node *next;
  long value;
  char rest[96];
  Node(Node *next, long value) : next(next), value(value) {
    if (value % 777 == 776)
      throw std::runtime_error("not this one");
    alive++;
  }
  ~Node() { alive--; }
};

static Node *make_node(Node *next, long value) {
  // CHECK-DAG: new.cpp:[[@LINE+1]]: remark: what is allocated here goes to the section 'nodes'
  return new Node(next, value);
}

__attribute__((noinline)) static long sum_of_numbers(size_t count) {
  std::vector<long> numbers(count);
  // CHECK-DAG: new.cpp:30: remark: what is allocated here goes to the section 'numbers'
  for (size_t i = 0; i < count; i++)
    numbers[i] = i * i;
  long sum = 0;
  for (long number : numbers)
    sum = sum * 7 + number;
  return sum;
}

static char *copy_of(const char *text) { char *to = new (std::nothrow) char[100];
  // CHECK-DAG: new.cpp:40: remark: what is allocated here goes to the section 'words'
  for (int i = 0; i < 100; i++)
    to[i] = text[i % 10];
  return to;
}

// Not inlined but where a section file says that something is allocated.
__attribute__((noinline)) static void *allocate(size_t size) {
  void *block = malloc(size);
  if (!block)
    abort();
  return block;
}
__attribute__((noinline)) static long lists(void) {
  int *one = (int *)allocate(4000 * sizeof(int)); // CHECK-DAG: new.cpp:[[@LINE]]: remark: what is allocated here goes to the section 'lists'
  int *other = (int *)allocate(2000 * sizeof(int));
  void *third = allocate(10);
  long sum = third != nullptr;
  for (int i = 0; i < 4000; i++)
    one[i] = i, other[i / 2] = 3 * i;
  for (int i = 0; i < 2000; i++)
    sum += one[i] * other[i];
  free(one), free(other), free(third);
  return sum;
}

int main() {
  Node *first = nullptr;
  int thrown = 0;
  for (long i = 0; i < 5000; i++)
    try {
      first = make_node(first, i);
    } catch (const std::exception &) {
      thrown++;
    }
  long sum = 0;
  while (Node *node = first) {
    sum = sum * 31 + node->value;
    first = node->next;
    delete node;
  }
  std::printf("%ld %d %d\n", sum, thrown, alive);
  std::printf("%ld\n", sum_of_numbers(30000));
  char *words[200];
  long letters = 0;
  for (int i = 0; i < 200; i++)
    words[i] = copy_of("abcdefghij");
  for (char *word : words) {
    for (int i = 0; i < 100; i++)
      letters += word[i];
    delete[] word;
  }
  std::printf("%ld %ld\n", letters, lists());
  try {
    std::vector<long> too_many((size_t)1 << 58);
    std::printf("%zu\n", too_many.size());
  } catch (const std::bad_alloc &) {
    std::puts("no memory");
  }
}
