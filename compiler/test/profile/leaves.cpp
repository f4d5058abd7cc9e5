// Functions may be left by exceptions and by longjmp, and run in several threads.
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: clang++ -O2 -pthread %s -o plain
// RUN: farside-c++ -O2 -ffarside-profile -pthread %s -o program
// RUN: ./plain > expected
// RUN: env FARSIDE_PROFILE=made.json ./program | cmp expected -
// RUN: %S/Inputs/profile show made.json | FileCheck %s --check-prefixes=CHECK,SITE
// RUN: farside-c++ -O0 -ffarside-profile -pthread %s -o program
// RUN: env FARSIDE_PROFILE=made.json ./program | cmp expected -
// RUN: %S/Inputs/profile show made.json | FileCheck %s
#include <csetjmp>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>

// CHECK-DAG: function work leaves.cpp calls 2604
static volatile thread_local long done;
__attribute__((noinline)) static long work(long count) {
  long sum = 0;
  done = count;
  for (long i = 0; i < count; i++)
    sum = sum * 31 + (i ^ sum >> 7);
  return sum;
}

// CHECK-DAG: function fail leaves.cpp calls 1000
__attribute__((noinline)) static long fail(long number) {
  long sum = work(10);
  if (number % 2)
    throw std::runtime_error("odd");
  return sum;
}

// CHECK-DAG: function attempt leaves.cpp calls 1
__attribute__((noinline)) static long attempt() {
  long sum = 0;
  for (long i = 0; i < 1000; i++)
    try {
      sum += fail(i);
    } catch (const std::exception &) {
      sum += work(20);
    }
  return sum;
}

static std::jmp_buf place;
__attribute__((noinline)) static void jump() {
  work(10);
  std::longjmp(place, 1);
}

// CHECK-DAG: function jumps leaves.cpp calls 1
// CHECK-DAG: function jump leaves.cpp calls 100
__attribute__((noinline)) static long jumps() {
  volatile long count = 0;
  setjmp(place);
  count = count + 1;
  work(10);
  if (count < 101)
    jump();
  return count;
}

int main() {
  // CHECK-DAG: function main leaves.cpp calls 1
  long sum = attempt() + jumps();
  std::vector<std::thread> threads;
  std::vector<long> results(3);
  for (int i = 0; i < 3; i++)
    threads.emplace_back([i, &results] {
      std::vector<long> own(300);
      for (long &each : own)
        each = work(1000 + i);
      results[i] = own[299];
    });
  for (auto &thread : threads)
    thread.join();
  for (long result : results)
    sum += result;
  std::printf("%ld %ld\n", sum, work(3) + work(4) + work(5));
}
// SITE-DAG: site leaves.cpp:{{[0-9]+}}:{{[0-9]+}} operator() blocks 3 bytes 7200 peak_bytes {{[0-9]+}} largest 2400
