// What headers of the system allocate is of the place of the program that they were inlined to.
// RUN: farside-c++ -O2 -ffarside-profile %s -o %t
// RUN: %S/Inputs/candidates show %t | FileCheck %s
// RUN: %S/Inputs/candidates sections %t > %t.toml
// RUN: farside-c++ -O2 -Rfarside -fsections=%t.toml %s -o %t.converted 2>&1 | FileCheck %s --check-prefix=MARKED
// RUN: %t > %t.out
// RUN: %t.converted | cmp %t.out -
#include <cstdio>
#include <vector>

__attribute__((noinline)) static long sum_of_numbers(size_t count) {
  // CHECK-DAG: site [[NUMBERS:[0-9]+]] vector.cpp:[[@LINE+2]]:{{[0-9]+}} sum_of_numbers class
  // MARKED-DAG: vector.cpp:[[@LINE+1]]: remark: what is allocated here goes to the section 'class
  std::vector<long> numbers(count);
  // CHECK-DAG: store vector.cpp:[[@LINE+2]] sum_of_numbers sites {{\[}}[[NUMBERS]]] size 8 stride 8 loop True
  for (size_t i = 0; i < count; i++)
    numbers[i] = i * i;
  long sum = 0;
  for (long number : numbers)
    sum = sum * 7 + number;
  return sum;
}

struct Shape {
  virtual long area() const = 0;
  virtual ~Shape() = default;
};
struct Square : Shape {
  long side;
  explicit Square(long side) : side(side) {}
  long area() const override { return side * side; }
};

__attribute__((noinline)) static Shape *make(long side) {
  // CHECK-DAG: site {{[0-9]+}} vector.cpp:[[@LINE+1]]:{{[0-9]+}} make class
  return new Square(side);
}

int main(int count, char **) {
  Shape *shape = make(count);
  std::printf("%ld %ld\n", sum_of_numbers(1000), shape->area());
  delete shape;
}
