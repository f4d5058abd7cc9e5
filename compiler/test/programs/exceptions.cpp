// RUN: %same %s
// RUN: %lifted %s
// Exceptions: thrown through frames with things to destroy, caught by kind, thrown on, not caught, in loops.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Trace {
  explicit Trace(const char *name) : name(name) { std::printf("+%s ", name); }
  ~Trace() { std::printf("-%s ", name); }
  const char *name;
};

struct Base {
  virtual ~Base() = default;
  virtual int code() const { return 1; }
};
struct Derived : Base {
  int code() const override { return 2; }
};

[[gnu::noinline]] int dangerous(int x) {
  Trace trace("d");
  if (x % 3 == 1)
    throw std::runtime_error("one " + std::to_string(x));
  if (x % 3 == 2)
    throw Derived();
  return x;
}

[[gnu::noinline]] int guarded(int x) {
  Trace outer("o");
  try {
    Trace inner("i");
    return dangerous(x) + dangerous(x + 3);
  } catch (const std::logic_error &) {
    return -100;
  } catch (const std::exception &error) {
    std::printf("[%s] ", error.what());
    return -1;
  } catch (const Base &base) {
    return -base.code();
  }
}

[[gnu::noinline]] int nested(int x) {
  try {
    try {
      return dangerous(x);
    } catch (...) {
      Trace trace("again");
      throw;
    }
  } catch (const Derived &) {
    return 5;
  } catch (std::runtime_error &error) {
    throw std::logic_error(std::string(error.what()) + "!");
  }
}

[[gnu::noinline]] long many(const std::vector<int> &numbers) {
  long sum = 0;
  for (int number : numbers) {
    std::string text(number, 'x');
    try {
      if (number > 6)
        text.at(100);
      sum += dangerous(number) + text.size();
    } catch (std::out_of_range &) {
      sum += 1000;
      if (number > 8)
        break;
    } catch (...) {
      sum -= 1;
      continue;
    }
    sum *= 2;
  }
  return sum;
}

void never() noexcept(false) {}
int quiet(int x) noexcept { return x + 1; }

} // namespace

int main() {
  for (int i = 0; i < 3; i++)
    std::printf("= %d\n", guarded(i));
  for (int i = 0; i < 3; i++)
    try {
      std::printf("= %d\n", nested(i));
    } catch (const std::exception &error) {
      std::printf("out: %s\n", error.what());
    }
  std::printf("= %ld\n", many({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  never();
  auto function = [](int x) { try { return dangerous(x); } catch (int) { return 0; } };
  std::printf("= %d\n", function(3) + quiet(1));
  return 0;
}
