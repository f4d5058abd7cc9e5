/*
 * Sorts 4-byte numbers in parallel, by regular sampling.
 *
 *     sort [--numbers N] [--threads N]
 *
 * Each thread sorts a shard, the shards are divided at common pivots, each thread merges its part of all of them into a
 * second buffer, and copies that back. Prints a sum that depends on the order, and to standard error how long it took.
 */
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <getopt.h>
#include <queue>
#include <thread>
#include <vector>

#include <farside.h>

#include "random.h"

namespace {

using Number = uint32_t;

constexpr size_t PAGE = 4096;

/* Shards from this size on are divided with hints; smaller ones stay here as a whole while they are sorted. */
constexpr ptrdiff_t LARGE = 1 << 18;

Number median(Number a, Number b, Number c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); }

/*
 * Whether a pass comes to a page there, upwards or downwards: in loops as short as these a hint a page is enough, and
 * what is done once a page has to lie out of the way of what is done for each number.
 */
bool enters_from_below(const Number *at) {
    return __builtin_expect(reinterpret_cast<uintptr_t>(at) % PAGE == 0, 0);
}
bool enters_from_above(const Number *at) {
    return __builtin_expect(reinterpret_cast<uintptr_t>(at + 1) % PAGE == 0, 0);
}

/* Numbers from one on that lie in its page. */
ptrdiff_t until_next_page(const Number *at) {
    return (PAGE - reinterpret_cast<uintptr_t>(at) % PAGE) / sizeof(Number);
}

/* Divides at a pivot; returns where the second part begins. */
Number *partition(Number *first, Number *last) {
    const Number pivot = median(*first, first[(last - first) / 2], last[-1]);
    Number *low = first - 1, *high = last;
    for (;;) {
        do {
            low++;
            if (enters_from_below(low)) farside_hint(low, .mut = 1, .ahead = 64);
        } while (*low < pivot);
        do {
            high--;
            if (enters_from_above(high)) farside_hint(high, .mut = 1, .ahead = -64);
        } while (*high > pivot);
        if (low >= high) return high + 1;
        std::swap(*low, *high);
    }
}

void quicksort(Number *first, Number *last) {
    while (last - first > LARGE) {
        Number *middle = partition(first, last);
        quicksort(first, middle);
        first = middle;
    }
    std::sort(first, last);
}

struct Part {
    const Number *at, *end;
    bool operator>(const Part &other) const { return *at > *other.at; }
};

/* Merges sorted parts. */
void merge(std::vector<Part> parts, Number *into) {
    parts.erase(std::remove_if(parts.begin(), parts.end(), [](const Part &part) { return part.at == part.end; }),
                parts.end());
    if (parts.size() == 2) {
        Part &one = parts[0], &two = parts[1];
        while (one.at < one.end && two.at < two.end) {
            if (enters_from_below(into)) farside_hint(into, .mut = 1, .ahead = 64);
            if (enters_from_below(one.at)) farside_hint(one.at, .ahead = 64);
            if (enters_from_below(two.at)) farside_hint(two.at, .ahead = 64);
            /* None of the three leaves its page before so many. */
            const ptrdiff_t some = std::min({until_next_page(into), until_next_page(one.at), until_next_page(two.at),
                                             one.end - one.at, two.end - two.at});
            for (ptrdiff_t i = 0; i < some; i++) *into++ = *two.at < *one.at ? *two.at++ : *one.at++;
        }
        parts.erase(parts.begin() + (one.at == one.end ? 0 : 1));
    }
    std::priority_queue<Part, std::vector<Part>, std::greater<Part>> queue(std::greater<Part>(), std::move(parts));
    while (!queue.empty()) {
        Part part = queue.top();
        queue.pop();
        if (enters_from_below(part.at)) farside_hint(part.at, .ahead = 64);
        if (enters_from_below(into)) farside_hint(into, .mut = 1, .ahead = 64);
        *into++ = *part.at++;
        if (part.at < part.end) queue.push(part);
    }
}

void copy(const Number *from, const Number *end, Number *to) {
    for (; from < end; from += 1024, to += 1024) {
        farside_hint(from, .ahead = 64, .sequential = 1);
        farside_hint(to, .mut = 1, .ahead = 64, .sequential = 1);
        std::copy(from, std::min(from + 1024, end), to);
    }
}

/* Calls a function with 0, 1, ... in a thread each. */
void in_threads(int threads, const std::function<void(int)> &body) {
    std::vector<std::thread> all;
    for (int i = 0; i < threads; i++) all.emplace_back(body, i);
    for (auto &thread : all) thread.join();
}

void parallel_sort(std::vector<Number> &numbers, int threads) {
    const size_t count = numbers.size();
    Number *const first = numbers.data();
    const auto shard = [&](int i) { return first + count * i / threads; };
    std::vector<Number> samples, other(count);
    std::vector<std::vector<Number>> own(threads);
    in_threads(threads, [&](int i) {
        quicksort(shard(i), shard(i + 1));
        for (int j = 0; j < threads; j++) own[i].push_back(shard(i)[(shard(i + 1) - shard(i)) * j / threads]);
    });
    for (const auto &some : own) samples.insert(samples.end(), some.begin(), some.end());
    std::sort(samples.begin(), samples.end());
    /* Where part j of shard i begins. */
    const auto begin = [&](int i, int j) {
        if (j == 0) return shard(i);
        if (j == threads) return shard(i + 1);
        return std::lower_bound(shard(i), shard(i + 1), samples[j * threads + threads / 2]);
    };
    std::vector<size_t> starts(threads + 1);
    for (int j = 0; j < threads; j++) {
        starts[j + 1] = starts[j];
        for (int i = 0; i < threads; i++) starts[j + 1] += begin(i, j + 1) - begin(i, j);
    }
    in_threads(threads, [&](int j) {
        std::vector<Part> parts;
        for (int i = 0; i < threads; i++) parts.push_back({begin(i, j), begin(i, j + 1)});
        merge(std::move(parts), other.data() + starts[j]);
    });
    in_threads(threads, [&](int j) {
        copy(other.data() + starts[j], other.data() + starts[j + 1], first + starts[j]);
    });
}

uint64_t number(const char *text, uint64_t most) {
    char *end;
    const uint64_t number = strtoull(text, &end, 10);
    if (*end || number == 0 || number > most) {
        fprintf(stderr, "sort: %s is no number from 1 to %llu\n", text, (unsigned long long)most);
        exit(2);
    }
    return number;
}

}

int main(int argc, char **argv) {
    const option known[] = {{"numbers", 1, 0, 'n'}, {"threads", 1, 0, 't'}, {0, 0, 0, 0}};
    uint64_t count = 16 << 20, threads = 2;
    for (int c; (c = getopt_long(argc, argv, "", known, 0)) != -1;) {
        switch (c) {
        case 'n': count = number(optarg, 1ull << 32); break;
        case 't': threads = number(optarg, 256); break;
        default: return 2;
        }
    }
    std::vector<Number> numbers(count);
    for (size_t i = 0; i < count; i++) {
        if (enters_from_below(&numbers[i])) farside_hint(&numbers[i], .mut = 1, .ahead = 64);
        numbers[i] = mix(i + 1);
    }
    const auto begin = std::chrono::steady_clock::now();
    parallel_sort(numbers, threads);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    uint64_t sum = 0;
    Number last = 0;
    bool is_sorted = true;
    for (size_t i = 0; i < count; i++) {
        if (enters_from_below(&numbers[i])) farside_hint(&numbers[i], .ahead = 64);
        is_sorted &= last <= numbers[i];
        last = numbers[i];
        sum = sum * 3 + last;
    }
    printf("%016llx %s\n", (unsigned long long)sum, is_sorted ? "sorted" : "not sorted");
    fprintf(stderr, "%.4f s\n", took.count());
    return 0;
}
