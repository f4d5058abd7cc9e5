// Operators new and delete, exceptions, containers, and thread-local objects with destructors.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
#include <dlfcn.h>
#include <cstdlib>

static int failures;
#define CHECK(c) do { if (!(c)) { std::printf("%d: failed: %s\n", __LINE__, #c); failures++; } } while (0)

static bool far_if_any(const void *p)
{
    auto is_far = reinterpret_cast<bool (*)(const void *)>(dlsym(RTLD_DEFAULT, "farside_is_far"));
    return !is_far || !std::getenv("FARSIDE_CONTROL") || is_far(p);
}

struct alignas(256) Wide { char data[256]; };

static std::atomic<int> gone;
struct Local {
    std::vector<std::string> names;
    ~Local() { names.emplace_back(5000, 'z'); gone += (int)names.size(); }
};
thread_local Local local;
static std::map<int, std::string> built_before_main{{1, "one"}, {2, std::string(100000, 't')}};

int main()
{
    CHECK(built_before_main[2].size() == 100000);
    auto *one = new int(5);
    CHECK(far_if_any(one) && *one == 5);
    delete one;
    auto wide = std::make_unique<Wide[]>(100);
    CHECK(reinterpret_cast<std::uintptr_t>(wide.get()) % 256 == 0 && far_if_any(wide.get()));
    bool thrown = false;
    try {
        volatile std::size_t too_much = SIZE_MAX / 2;
        std::unique_ptr<char[]> none(new char[too_much]);
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    CHECK(thrown && new (std::nothrow) char[SIZE_MAX / 4] == nullptr);
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++)
        threads.emplace_back([i] {
            for (int j = 0; j < 1000; j++)
                try {
                    local.names.push_back(std::string(j % 100, 'a' + i));
                    if (j % 10 == 0)
                        throw std::runtime_error(std::string(j, 'e'));
                } catch (const std::runtime_error &error) {
                    if (std::string(error.what()).size() != (std::size_t)j)
                        failures++;
                }
        });
    for (auto &thread : threads)
        thread.join();
    CHECK(gone == 8 * 1001);
    if (failures == 0)
        std::puts("objects: all as promised");
    return failures != 0;
}
