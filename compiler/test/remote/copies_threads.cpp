// Threads of the C++ library, promises, exceptions out of what waits, and what is destroyed when a thread ends.
// RUN: %remote %S/Inputs/copies_threads.toml %s -pthread
// RUN: farside-c++ -O2 -g -Rfarside -fsections=%S/Inputs/copies_threads.toml %s -pthread -o %t 2>&1 | FileCheck %s
// CHECK: remark: what is allocated here goes to the section 'words'
#include <atomic>
#include <cstdio>
#include <future>
#include <thread>
#include <vector>

namespace {

constexpr long count = 4000;
long *words;
unsigned long results[8], lasts[8];
std::atomic<long> phase, begun;
std::promise<void> opened, failed;

// Reads after the thread's function.
struct reader {
  unsigned long *place = nullptr;
  ~reader() {
    if (place)
      for (long i = 0; i < count; i += 17)
        *place += words[i];
  }
};
thread_local reader at_end;

[[gnu::noinline]] void build() {
  words = new long[count];
  for (long i = 0; i < count; i++)
    words[i] = i;
}

[[gnu::noinline]] void change(long by) {
  for (long i = 0; i < count; i++)
    words[i] = words[i] * 3 + by;
}

[[gnu::noinline]] unsigned long use(unsigned long h) {
  for (long i = 0; i < 3000; i++)
    h = h * 6364136223846793005u + static_cast<unsigned long>(words[(h >> 33) % count]);
  for (long i = 0; i < count; i++)
    h += static_cast<unsigned long>(words[i]);
  return h;
}

void work(long k, std::shared_future<void> open, std::shared_future<void> fails) {
  at_end.place = &lasts[k];
  unsigned long h = use(k);
  begun++;
  open.wait();
  h = use(h);
  begun++;
  try {
    fails.get();
  } catch (long thrown) {
    h = use(h + thrown);
  }
  begun++;
  while (phase.load() == 0)
    std::this_thread::yield();
  results[k] = use(h);
}

} // namespace

int main() {
  build();
  std::shared_future<void> open = opened.get_future(), fails = failed.get_future();
  std::vector<std::thread> threads;
  for (long k = 0; k < 8; k++)
    threads.emplace_back(work, k, open, fails);
  std::printf("%lu\n", use(9));
  while (begun != 8)
    std::this_thread::yield();
  change(1);
  opened.set_value();
  while (begun != 16)
    std::this_thread::yield();
  change(2);
  failed.set_exception(std::make_exception_ptr(5L));
  while (begun != 24)
    std::this_thread::yield();
  change(3);
  phase = 1;
  for (auto &thread : threads)
    thread.join();
  change(7);
  auto later = std::async(std::launch::async, [] { return use(7); });
  std::printf("%lu\n", later.get());
  for (long k = 0; k < 8; k++)
    std::printf("%lu %lu\n", results[k], lasts[k]);
}
