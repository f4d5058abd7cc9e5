/*
 * farside/coroutines.hpp - while a coroutine waits for far memory, others run. C++20.
 *
 *     #include <farside/coroutines.hpp>
 *
 *     task look_up(const Bucket *bucket) {
 *         co_await farside::resident(bucket, {.size = sizeof *bucket});
 *         use(*bucket);
 *     }
 *
 * goes on at once if the bucket is here, at the cost of a look at a table. If not, its pages are sent for and the
 * coroutine is left; the thread resumes it later in
 *
 *     while (farside::resume_arrived()) more_work();
 *
 * which belongs into the loop of whatever runs the coroutines. Any type of coroutine will do.
 */
#ifndef FARSIDE_COROUTINES_HPP
#define FARSIDE_COROUTINES_HPP

#include <coroutine>
#include <cstddef>
#include <vector>

#include "../farside.h"

namespace farside {

/* What a coroutine is about to use: as the options of farside_hint(), in the same order. */
struct how {
    /* So many bytes. */
    std::size_t size = 1;
    /* They will be written. */
    bool mut = false;
    /* So many pages that follow, or, if negative, come before, will be used next. */
    long ahead = 0;
    /* Eviction priority, 0 to 7. */
    unsigned priority = 0;
};

/* Something that a coroutine waits for. */
class resident {
public:
    explicit resident(const void *address, how options = {}) : address_(address), how_(options) {}

    bool await_ready() const {
        return !farside_start(address_, .size = how_.size, .mut = how_.mut, .ahead = how_.ahead,
                              .priority = how_.priority);
    }
    void await_suspend(std::coroutine_handle<> coroutine) const {
        waiting().push_back({coroutine, address_, how_.size});
    }
    void await_resume() const noexcept {}

private:
    struct waiter {
        std::coroutine_handle<> coroutine;
        const void *address;
        std::size_t size;
    };

    /* Those of this thread, in the order they came. */
    static std::vector<waiter> &waiting() {
        thread_local std::vector<waiter> all;
        return all;
    }

    friend std::size_t resume_arrived();

    const void *address_;
    how how_;
};

/*
 * Resumes coroutines of this thread whose memory has arrived, in the order in which they began to wait. Returns how many
 * wait then.
 */
inline std::size_t resume_arrived() {
    /* What was sent for first arrives first in most cases: behind some that have not, few have. */
    constexpr std::size_t most_in_vain = 4;
    std::vector<resident::waiter> &all = resident::waiting();
    std::size_t left = 0, next = 0;
    std::vector<std::coroutine_handle<>> ready;
    for (; next < all.size() && left < most_in_vain; next++) {
        if (farside_arrived(all[next].address, all[next].size)) {
            ready.push_back(all[next].coroutine);
        } else {
            all[left++] = all[next];
        }
    }
    all.erase(all.begin() + left, all.begin() + next);
    /* They may begin to wait again. */
    for (std::coroutine_handle<> coroutine : ready) coroutine.resume();
    return all.size();
}

}

#endif
