/*
 * What programs that are compiled with -ffarside-profile count, and write when they end. It is linked into them as bitcode.
 * Nothing is counted unless FARSIDE_PROFILE names a file when the program starts. See docs/compiler.md.
 *
 * Its own memory comes from the kernel: the program's is what is profiled.
 */
#define _GNU_SOURCE
#define FARSIDE_PROFILE
#include "hooks.h"
#undef farside_section_miss_
#undef farside_section_pin_

typedef struct farside_profile_lookups_ lookups;

#include "state.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <farside/section.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))
/* What the compiler puts into the program. */
#define PART __attribute__((always_inline, nothrow, visibility("hidden")))
#define FAST PROFILE_CALL_
/* What such calls end in sometimes, so that they save no registers for it. */
#define RARE __attribute__((preserve_most, noinline, cold, nothrow, visibility("hidden")))
#define END_IN __attribute__((musttail)) return
#define SLOW __attribute__((noinline, cold, nothrow, visibility("hidden")))

HIDDEN int farside_profile_on_;
HIDDEN struct state farside_profile_state_;
HIDDEN uint64_t farside_profile_mask_, farside_profile_chosen_;
HIDDEN __thread struct thread *farside_profile_self_;
HIDDEN __thread struct farside_profile_lookups_ *farside_profile_row_;

#define state farside_profile_state_

static void lock(void) {
    while (__atomic_exchange_n(&state.lock, 1, __ATOMIC_ACQUIRE)) sched_yield();
}

static void unlock(void) { __atomic_store_n(&state.lock, 0, __ATOMIC_RELEASE); }

/* Zeros, or null. */
static void *memory(size_t size) {
    const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    const long found = syscall(SYS_mmap, 0, size, PROT_READ | PROT_WRITE, how, -1, 0);
    return found == -1 ? 0 : (void *)found;
}

static uint64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The cheapest clock. How long a tick is comes out when the program ends. */
static inline uint64_t ticks(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t now;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
    return now;
#else
    return nanoseconds();
#endif
}

SLOW void farside_profile_close_(struct thread *thread, int32_t depth, uint64_t now);

/* A call that takes less than a quarter of a microsecond is too short: to time it takes a good part of that. */
static inline uint64_t shortest_ticks(void) {
#if defined(__x86_64__)
    return 600;
#elif defined(__aarch64__)
    uint64_t each_second;
    __asm__("mrs %0, cntfrq_el0" : "=r"(each_second));
    return each_second / 4000000;
#else
    return 250;
#endif
}

#include "trace.h"
#include "threads.h"
#include "functions.h"
#include "blocks.h"
#include "lookups.h"
#include "report.h"
#include "start.h"
