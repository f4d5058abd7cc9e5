/*
 * farside/fibers.hpp - while a fiber of Boost.Fiber waits for far memory, others run.
 *
 *     #include <farside/fibers.hpp>
 *
 *     void worker() {                      // a thread that runs fibers
 *         farside::fibers here;
 *         ...
 *     }
 *
 * As long as `here` lives, a farside_hint() in a fiber of this thread that would wait for pages lets other fibers of the
 * thread run until they are here. Memory that is used without a hint in front is waited for by the whole thread.
 *
 * In what another fiber may do meanwhile, a hint is as boost::this_fiber::yield(): it must not be given while the fiber
 * holds what others need and cannot wait for as fibers do, such as a std::mutex.
 */
#ifndef FARSIDE_FIBERS_HPP
#define FARSIDE_FIBERS_HPP

#include <boost/fiber/operations.hpp>

#include "../farside.h"

namespace farside {

/* Lets other fibers of this thread run whenever one of them waits for far memory. */
class fibers {
public:
    fibers() { farside_wait_with(&fibers::yield, nullptr); }
    ~fibers() { farside_wait_with(nullptr, nullptr); }
    fibers(const fibers &) = delete;
    fibers &operator=(const fibers &) = delete;

private:
    static void yield(void *) { boost::this_fiber::yield(); }
};

}

#endif
