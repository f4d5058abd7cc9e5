/*
 * Walks through a table, many walks at once, each a coroutine: while one waits for far memory, others go on.
 *
 *     coroutines [--megabytes N] [--walks N] [--steps N]
 *
 * Where a step leads to depends on what the one before found. Prints a sum that does not depend on the order, and to
 * standard error how long it took.
 */
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <getopt.h>
#include <vector>

#include <farside/coroutines.hpp>

#include "random.h"

namespace {

/* A coroutine that nobody waits for. */
struct task {
    struct promise_type {
        task get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};

task walk(const std::vector<uint64_t> &table, uint64_t at, uint64_t steps, uint64_t &sum) {
    for (uint64_t i = 0; i < steps; i++) {
        const uint64_t *place = &table[at % table.size()];
        co_await farside::resident(place);
        at = mix(at + *place);
    }
    sum += at;
}

uint64_t number(const char *text) {
    char *end;
    const uint64_t number = strtoull(text, &end, 10);
    if (*end || number == 0 || number > 1u << 24) {
        fprintf(stderr, "coroutines: %s is no number of them\n", text);
        exit(2);
    }
    return number;
}

}

int main(int argc, char **argv) {
    const option known[] = {{"megabytes", 1, 0, 'm'}, {"walks", 1, 0, 'w'}, {"steps", 1, 0, 's'}, {0, 0, 0, 0}};
    uint64_t megabytes = 64, walks = 32, steps = 2000, sum = 0;
    for (int c; (c = getopt_long(argc, argv, "", known, 0)) != -1;) {
        switch (c) {
        case 'm': megabytes = number(optarg); break;
        case 'w': walks = number(optarg); break;
        case 's': steps = number(optarg); break;
        default: return 2;
        }
    }
    std::vector<uint64_t> table(megabytes << 17);
    for (uint64_t i = 0; i < table.size(); i++) table[i] = mix(i);
    const auto begin = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < walks; i++) walk(table, mix(i + 1), steps, sum);
    while (farside::resume_arrived()) {
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    printf("%016llx\n", (unsigned long long)sum);
    fprintf(stderr, "%.4f s, %.0f steps/s\n", took.count(), walks * steps / took.count());
    return 0;
}
