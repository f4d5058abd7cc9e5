// RUN: %same %s
// RUN: %lifted %s
// Objects: virtual and multiple inheritance, members that are functions, static things, templates, what the library has.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

namespace {

struct Shape {
  virtual ~Shape() { ++gone; }
  virtual double area() const = 0;
  static inline int gone = 0;
};
struct Named {
  explicit Named(std::string name) : name(std::move(name)) {}
  virtual std::string title() const { return "<" + name + ">"; }
  std::string name;
};
struct Square : Shape, virtual Named {
  explicit Square(double side) : Named("square"), side(side) {}
  double area() const override { return side * side; }
  double side;
};
struct Circle : virtual Named, Shape {
  explicit Circle(double r) : Named("circle"), r(r) {}
  double area() const override { return 3 * r * r; }
  std::string title() const override { return "(" + name + ")"; }
  double r;
};

struct Counter {
  int up(int by) { return count += by; }
  virtual int down(int by) { return count -= by; }
  int count = 100;
};

int starts = std::puts("starting");
thread_local std::vector<int> local{1, 2, 3};
const std::map<std::string, int> &table() {
  static const std::map<std::string, int> table{{"one", 1}, {"two", 2}, {"three", 3}};
  return table;
}

template <typename... Ts> auto sum(Ts... values) { return (values + ... + 0); }

template <int N> struct Fibonacci {
  static constexpr long value = Fibonacci<N - 1>::value + Fibonacci<N - 2>::value;
};
template <> struct Fibonacci<1> { static constexpr long value = 1; };
template <> struct Fibonacci<0> { static constexpr long value = 0; };

[[gnu::noinline]] std::string join(const std::vector<std::string> &words, char with) {
  std::ostringstream out;
  for (auto word = words.begin(); word != words.end(); ++word)
    out << (word == words.begin() ? "" : std::string(1, with)) << *word;
  return out.str();
}

long threads() {
  std::mutex lock;
  long total = 0;
  std::vector<std::thread> all;
  for (int t = 0; t < 3; t++)
    all.emplace_back([&, t] {
      local.push_back(t);
      std::lock_guard guard(lock);
      total += std::accumulate(local.begin(), local.end(), 0L);
    });
  for (auto &thread : all)
    thread.join();
  return total;
}

} // namespace

int main() {
  {
    std::vector<std::unique_ptr<Shape>> shapes;
    shapes.push_back(std::make_unique<Square>(3));
    shapes.push_back(std::make_unique<Circle>(2));
    for (auto &shape : shapes)
      std::printf("%s %g\n", dynamic_cast<Named &>(*shape).title().c_str(), shape->area());
  }
  std::printf("%d\n", Shape::gone);
  int (Counter::*steps[])(int) = {&Counter::up, &Counter::down};
  Counter counter;
  for (auto step : steps)
    std::printf("%d ", (counter.*step)(7));
  std::printf("%d %ld\n", sum(1, 2, 3), Fibonacci<20>::value);
  std::puts(join({"a", "bc", "def"}, '-').c_str());
  std::unordered_map<std::string, int> words;
  for (const char *word : {"x", "y", "x", "z", "x"})
    words[word]++;
  std::printf("%d %zu %d\n", words["x"], words.size(), table().at("three"));
  std::function<int(int)> factorial = [&](int x) { return x < 2 ? 1 : x * factorial(x - 1); };
  std::vector<int> numbers(10);
  std::iota(numbers.begin(), numbers.end(), 1);
  std::sort(numbers.begin(), numbers.end(), [](int a, int b) { return a % 4 != b % 4 ? a % 4 < b % 4 : a > b; });
  for (int number : numbers)
    std::printf("%d ", number);
  std::variant<int, std::string> either = "text";
  std::printf("%d %zu %ld\n", factorial(10), std::get<std::string>(either).size(), threads());
  return starts < 0;
}
