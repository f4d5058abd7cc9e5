// Exceptions, threads and dlopen over a heap of small objects: argv[1] is the plugin, argv[2] the
// number of objects per thread.
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using Work = long (*)(const std::vector<std::string> &, long);

static void run(Work work, long seed, long count, long *result) {
    std::map<long, std::unique_ptr<std::vector<std::string>>> heap;
    unsigned long state = 88172645463325252ul + static_cast<unsigned long>(seed);
    long sum = 0;
    for (long i = 0; i < count; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        auto words = std::make_unique<std::vector<std::string>>();
        for (unsigned long k = 0; k < state % 7; k++)
            words->push_back(std::string(20 + (state >> k) % 60, static_cast<char>('a' + k)));
        long key = static_cast<long>(state % static_cast<unsigned long>(count));
        heap[key] = std::move(words);
        try {
            sum += work(*heap[key], i);
        } catch (const std::runtime_error &error) {
            sum += static_cast<long>(std::string(error.what()).size());
            if (i % 9 == 0) heap.erase(key);
        }
    }
    for (const auto &[key, words] : heap)
        for (const auto &word : *words) sum = sum * 33 + key + word[word.size() / 2];
    *result = sum;
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    void *plugin = dlopen(argv[1], RTLD_NOW);
    if (!plugin) {
        std::printf("%s\n", dlerror());
        return 1;
    }
    auto work = reinterpret_cast<Work>(dlsym(plugin, "plugin_work"));
    if (!work) return 1;
    long results[4] = {};
    std::vector<std::thread> threads;
    for (long t = 0; t < 4; t++)
        threads.emplace_back(run, work, t, std::atol(argv[2]), &results[t]);
    for (auto &thread : threads) thread.join();
    for (long result : results) std::printf("%ld\n", result);
    try {
        std::vector<int>().at(7);
    } catch (const std::out_of_range &) {
        std::puts("caught");
    }
    try {
        // More than any address space has: must fail as bad_alloc, not by signal.
        volatile std::size_t much = ~std::size_t{0} / 4;
        std::vector<char> never(much);
    } catch (const std::exception &) {
        std::puts("refused");
    }
    return dlclose(plugin) == 0 ? 0 : 1;
}
