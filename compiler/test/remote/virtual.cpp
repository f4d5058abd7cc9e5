// Objects with virtual functions, of which some are known to the library.
// RUN: %remote %S/Inputs/virtual.toml %s
// RUN: farside-c++ -O2 -g -Rfarside -fsections=%S/Inputs/virtual.toml %s -o %t 2>&1 | FileCheck %s
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

struct Shape {
  virtual long area() const = 0;
  virtual Shape *next() { return nullptr; }
  virtual ~Shape() = default;
};
struct Square : Shape {
  long side;
  explicit Square(long side) : side(side) {}
  long area() const override { return side * side; }
};
struct Named {
  virtual long name() const { return 1; }
  long number = 3;
  virtual ~Named() = default;
};
// What it is as a second base lies behind the first.
struct Rectangle final : Shape, Named {
  long a, b;
  Shape *other;
  Rectangle(long a, long b, Shape *other) : a(a), b(b), other(other) {}
  long area() const override { return a * b; }
  long name() const override { return a * 7 + number; }
  Shape *next() override { return other; }
};

__attribute__((noinline)) static Shape *make(long i, Shape *other) {
  // CHECK-DAG: virtual.cpp:[[@LINE+2]]: remark: {{.*}} goes to the section 'shapes'
  if (i % 3 == 0)
    return new Square(i);
  // CHECK-DAG: virtual.cpp:[[@LINE+1]]: remark: {{.*}} goes to the section 'shapes'
  return new Rectangle(i, i + 1, other);
}

// The library shows what an exception says.
struct Failure : std::exception {
  const char *text;
  explicit Failure(const char *text) : text(text) {}
  const char *what() const noexcept override { return text; }
};
__attribute__((noinline)) static const char *say() {
  // CHECK-DAG: virtual.cpp:[[@LINE+1]]: remark: {{.*}} does not go to the section 'texts'
  char *text = new char[8]{'s', 'a', 'i', 'd', 0};
  return text;
}

// A function with what it needs.
__attribute__((noinline)) static long call(const std::function<long(long)> &each, long count) {
  long sum = 0;
  for (long i = 0; i < count; i++) sum = sum * 3 + each(i);
  return sum;
}

int main(int argc, char **) {
  std::vector<Shape *> all;
  Shape *last = nullptr;
  for (long i = 0; i < 3000 * argc; i++) all.push_back(last = make(i, last));
  long sum = 0;
  for (Shape *each : all) {
    sum = sum * 3 + each->area();
    if (Shape *next = each->next()) sum += next->area();
  }
  for (size_t i = 1; i < all.size(); i += 3) {
    Named *named = static_cast<Rectangle *>(all[i]);
    sum = sum * 5 + named->name();
  }
  auto numbers = std::make_unique<long[]>(100);
  for (long i = 0; i < 100; i++) numbers[i] = i * argc;
  sum += call([&](long i) { return numbers[i % 100] + i; }, 500);
  for (Shape *each : all) delete each;
  try {
    if (argc < 5) throw Failure(say());
  } catch (const std::exception &failure) {
    std::puts(failure.what());
  }
  std::printf("%ld\n", sum);
}
