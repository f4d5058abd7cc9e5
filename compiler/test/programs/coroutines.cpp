// RUN: %same %s -std=c++20
// RUN: %lifted %s -std=c++20
// Coroutines, which are cut up before they come to MLIR or stay as they are.
#include <coroutine>
#include <cstdio>
#include <exception>
#include <utility>

struct Numbers {
  struct promise_type {
    int current = 0;
    Numbers get_return_object() { return Numbers{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int value) {
      current = value;
      return {};
    }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  explicit Numbers(std::coroutine_handle<promise_type> handle) : handle(handle) {}
  Numbers(Numbers &&other) : handle(std::exchange(other.handle, {})) {}
  ~Numbers() {
    if (handle)
      handle.destroy();
  }
  bool next() {
    handle.resume();
    return !handle.done();
  }
  std::coroutine_handle<promise_type> handle;
};

Numbers squares(int limit) {
  for (int i = 0; i * i < limit; i++)
    co_yield i * i;
}

Numbers odd(Numbers numbers) {
  while (numbers.next())
    if (numbers.handle.promise().current % 2)
      co_yield numbers.handle.promise().current;
}

int main() {
  Numbers numbers = odd(squares(200));
  while (numbers.next())
    std::printf("%d ", numbers.handle.promise().current);
  std::puts("");
  return 0;
}
