/*
 * farside.h - what a program may tell Farside: what it is about to use (hints), and which part of
 * its run is to be put on tape (parts). C99 or C++11, with GCC or Clang; with other compilers, and
 * without Farside, all of it does nothing. Nothing has to be linked.
 *
 *
 * Hints
 *
 * A program whose memory is partly far waits for the kernel, for Farside and for the network
 * whenever it uses a page that is far. Most such waits come from few places in the program;
 * `farside faults` finds them. A hint in front of such a place is a look at a table if the page is
 * here; if not, it fetches the page, and others with it, without the detour through the kernel.
 *
 *     #include <farside.h>
 *
 *     for (i = 0; i < n; i++) {
 *         farside_hint(&values[i], .ahead = 64, .sequential = 1);
 *         sum += values[i];
 *     }
 *
 * A hint never changes what a program computes. It may be wrong: the address of what is not far
 * memory, or was freed, or null, or a size beyond all bounds. Hints are safe in all threads and in
 * signal handlers.
 *
 *     farside_hint(address, how...)     the program is about to use what is at `address`
 *
 * where `how` is any of these, in this order (in C++ designated initializers must be in order):
 *
 *     .size = BYTES       so many bytes from the address on, not only those in its page
 *     .mut = 1            it will be written: pages come writable
 *     .ahead = PAGES      so many pages that follow will be used next; negative: that come before
 *     .priority = N       what comes is evicted before what came with lower priorities (0 to 7);
 *                         for policies that know priorities: `--replacement priority`, and `eden`,
 *                         for which all above 0 are the same
 *     .sequential = 1     this place goes from page to page: within the page it had last it does
 *                         nothing at all
 *
 * Besides single places the program may name lists of them (farside_ahead), what it is done with
 * (farside_done), what is to stay here (farside_pin), and ranges that are used in another way than the
 * rest, with a replacement policy of their own (farside_region). It may say which words hold pointers
 * (farside_tag).
 *
 *
 * Parts
 *
 * A program whose memory is partly far runs best when it is known beforehand which pages it uses,
 * and when. Farside can record that once and follow the recording, the tape, in later runs. Parts
 * are for programs that want only a part of their run on tape: a solver, but not the reading of its
 * input.
 *
 *     load(input);
 *     farside_begin(FARSIDE_AUTO);
 *     solve();
 *     farside_end();
 *     store(output);
 *
 * Without Farside both calls do nothing and return 0. With it, as in
 * `farside run --local 20% -- ./program`, the first run records the part, plans it when the program
 * has ended, and keeps the tape; later runs follow it.
 *
 * A part is known by the program's build, its arguments, the place that calls farside_begin (the
 * call itself, and up to five callers of its function), and how often a part was begun at that
 * place before. So a part in a loop is one part each time round, with a tape of its own. Farside
 * keeps the first 256 parts of a process; with others nothing is done.
 *
 * What a tape holds fits another run if the part does the same in it: the same allocations in the
 * same order, from the beginning of the program on, and the same use of memory in the part. If it
 * does not, the run is no faster than without a tape, and its results are the same.
 *
 * A part concerns the whole process, whatever thread begins or ends it. Threads are told apart by
 * the order in which they were made. A child made by fork() is in no part and begins none: there
 * both calls do nothing and return 0. A part that has no end before the program ends is followed,
 * but not recorded.
 *
 * Under `farside record` the first part is what is recorded, and nothing else; under `farside run
 * --tape` the tape is followed in the first part. Both whatever mode the program asks for; its
 * other parts are left alone.
 *
 * The calls are safe in all threads, and not in signal handlers. A library that is loaded later
 * with dlopen() may make them if the program does so too, or if FARSIDE_PARTS=1 is in the
 * environment of `farside run`. With FARSIDE_PARTS=0 nothing is done in any part.
 *
 *
 * With FARSIDE_OFF defined before the header is included all of this does nothing, to see what it
 * costs.
 */
#ifndef FARSIDE_H
#define FARSIDE_H

#ifdef __GNUC__
/* What macros expand to here is not for the program's warnings. */
#pragma GCC system_header
#endif

#include <stddef.h>
#include <stdint.h>

/* What to do with a part. */
enum farside_mode {
    /* Record it, even if there is a tape, which is replaced. */
    FARSIDE_RECORD = 1,
    /* Follow its tape if there is one. */
    FARSIDE_PREFETCH = 2,
    /* Follow its tape if there is one, else record it. */
    FARSIDE_AUTO = 3
};

#if defined(__GNUC__) && defined(__ELF__) && !defined(FARSIDE_OFF)

/* Looked up at start-up, even in programs with fixed addresses; null where Farside is not. */
#if !defined(__clang__) && __GNUC__ >= 6
#define FARSIDE_WEAK __attribute__((weak, noplt))
#else
#define FARSIDE_WEAK __attribute__((weak))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * int farside_begin(int mode): a part begins here. A part that is recorded is slower than the rest.
 *
 * Returns 0 if that is done, or if there is nothing to do: no Farside, no tape to follow, no room
 * to record into (Farside tells the user why). Returns -1, and sets errno, if
 *   EINVAL  the mode is none of the above,
 *   EBUSY   a part has begun already and not ended.
 */
extern int farside_begin(int mode) FARSIDE_WEAK;

/*
 * int farside_end(void): the part ends here.
 *
 * Returns 0, or -1, and sets errno, if
 *   EINVAL  no part has begun.
 */
extern int farside_end(void) FARSIDE_WEAK;

#ifdef __cplusplus
}
#endif

#define farside_begin(mode) (farside_begin ? farside_begin(mode) : 0)
#define farside_end() (farside_end ? farside_end() : 0)

/*
 * How the program sees Farside's table of pages. One for each program and library; Farside fills it
 * in at start-up, or when the library is loaded. Nobody else needs to look at it.
 */
struct farside_view {
    /* Far memory: where it begins, and its length in bytes, which is 0 without Farside. */
    uintptr_t base;
    uintptr_t length;
    /* A byte for each of its pages. */
    const volatile unsigned char *here;
    /* What a hint does if a page is not here, or cannot be written. */
    void (*hint)(const void *address, size_t size, long ahead, unsigned flags);
    /* The same for a task, and whether it has to wait; and whether that is over. */
    int (*start)(const void *address, size_t size, long ahead, unsigned flags);
    int (*arrived)(const void *address, size_t size);
    void (*foresee)(const void *const *addresses, size_t count);
    void (*done)(const void *address, size_t size);
    int (*pin)(const void *address, size_t size);
    void (*unpin)(const void *address, size_t size);
};

/* What `farside_hint` may be told besides the address. */
struct farside_how {
    char unused_;
    size_t size;
    int mut;
    long ahead;
    unsigned priority;
    int sequential;
};

/* Which version of the above this is. */
#define FARSIDE_VIEW 2

/* Bits of a page's byte: it can be used without waiting, and written. */
#define FARSIDE_HERE 1u
#define FARSIDE_WRITABLE 2u

/* Flags of a hint; its priority is above them. */
#define FARSIDE_FLAG_MUT 1u
#define FARSIDE_FLAG_BITS 8

#define FARSIDE_INLINE static __inline__ __attribute__((always_inline, unused))

/* Behind a call: keeps it from becoming a jump, so that the place of a hint can be told. */
#define FARSIDE_CALLED __asm__ volatile("")

#ifdef __cplusplus
extern "C" {
#endif

extern void farside_attach(struct farside_view *view, int version) FARSIDE_WEAK;

__attribute__((weak, visibility("hidden"))) struct farside_view farside_view;

static __attribute__((constructor, unused)) void farside_attach_(void) {
    if (farside_attach && farside_view.length == 0) farside_attach(&farside_view, FARSIDE_VIEW);
}

/* Whether the program can use a page of far memory without waiting. */
FARSIDE_INLINE int farside_is_here_(uintptr_t page, int mut) {
    unsigned wanted = FARSIDE_HERE | (mut ? FARSIDE_WRITABLE : 0);
    return (farside_view.here[page] & wanted) == wanted;
}

/* Whether there is nothing to be done for a hint. */
FARSIDE_INLINE int farside_is_served_(const void *address, struct farside_how how) {
    const uintptr_t offset = (uintptr_t)address - farside_view.base;
    uintptr_t last, page;
    if (__builtin_expect(offset >= farside_view.length, 0)) return 1;
    if (how.size <= 1) return farside_is_here_(offset >> 12, how.mut);
    last = offset + (how.size - 1);
    /* A long range, or one beyond the end, is not gone through here. */
    if (how.size > 1u << 18 || last >= farside_view.length) return 0;
    for (page = offset >> 12; page <= last >> 12; page++) {
        if (!farside_is_here_(page, how.mut)) return 0;
    }
    return 1;
}

FARSIDE_INLINE unsigned farside_flags_(struct farside_how how) {
    return (how.mut ? FARSIDE_FLAG_MUT : 0) | how.priority << FARSIDE_FLAG_BITS;
}

FARSIDE_INLINE void farside_hint_(const void *address, struct farside_how how) {
    if (__builtin_expect(!farside_is_served_(address, how), 0)) {
        farside_view.hint(address, how.size, how.ahead, farside_flags_(how));
        FARSIDE_CALLED;
    }
}

FARSIDE_INLINE int farside_start_(const void *address, struct farside_how how) {
    int waits;
    if (__builtin_expect(farside_is_served_(address, how), 1)) return 0;
    waits = farside_view.start(address, how.size, how.ahead, farside_flags_(how));
    FARSIDE_CALLED;
    return waits;
}

/*
 * void farside_hint(const void *address, how...): the program is about to use what is at `address`;
 * see above.
 */
#define farside_hint(address, ...)                                                                 \
    do {                                                                                           \
        const struct farside_how farside_how_ = {.unused_ = 0, ##__VA_ARGS__};                     \
        const void *const farside_address_ = (const void *)(address);                              \
        if (farside_how_.sequential) {                                                             \
            static __thread uintptr_t farside_page_;                                               \
            if (__builtin_expect(farside_page_ == (uintptr_t)farside_address_ >> 12, 1)) break;    \
            farside_page_ = (uintptr_t)farside_address_ >> 12;                                     \
        }                                                                                          \
        farside_hint_(farside_address_, farside_how_);                                             \
    } while (0)

/* A list of places that are not here, so long that one call fetches them together. */
struct farside_list_ {
    const void *addresses[64];
    size_t count;
};

FARSIDE_INLINE int farside_has_far_(void) {
    return farside_view.length != 0;
}

FARSIDE_INLINE void farside_list_(struct farside_list_ *list, const void *address, int is_last) {
    const uintptr_t offset = (uintptr_t)address - farside_view.base;
    if (offset < farside_view.length && !farside_is_here_(offset >> 12, 0)) {
        list->addresses[list->count++] = address;
    }
    if (list->count > (is_last ? 0 : 63)) {
        farside_view.foresee(list->addresses, list->count);
        FARSIDE_CALLED;
        list->count = 0;
    }
}

/*
 * void farside_ahead(const void *const *addresses, size_t count): the program will use what is at
 * these addresses. Sends for what is far, and waits for nothing. So do the next two.
 */
FARSIDE_INLINE void farside_ahead(const void *const *addresses, size_t count) {
    struct farside_list_ list;
    size_t i;
    list.count = 0;
    if (!farside_has_far_()) return;
    for (i = 0; i < count; i++) farside_list_(&list, addresses[i], i + 1 == count);
}

/*
 * void farside_ahead_strided(const void *address, ptrdiff_t stride, size_t count): the program will
 * use what is at this address, at the one `stride` bytes on, and so on.
 */
FARSIDE_INLINE void farside_ahead_strided(const void *address, ptrdiff_t stride, size_t count) {
    struct farside_list_ list;
    uintptr_t at = (uintptr_t)address;
    size_t i;
    list.count = 0;
    if (!farside_has_far_()) return;
    for (i = 0; i < count; i++, at += (uintptr_t)stride) {
        farside_list_(&list, (const void *)at, i + 1 == count);
    }
}

/*
 * void farside_ahead_indirect(const void *base, size_t size, const INTEGER *indices, size_t count):
 * the program will use these elements of an array, each of `size` bytes. The indices, of any type of
 * integer, are read.
 */
#define farside_ahead_indirect(base, size, indices, length)                                        \
    do {                                                                                           \
        struct farside_list_ farside_some_;                                                        \
        const size_t farside_count_ = (length);                                                    \
        size_t farside_at_;                                                                        \
        farside_some_.count = 0;                                                                   \
        if (!farside_has_far_()) break;                                                            \
        for (farside_at_ = 0; farside_at_ < farside_count_; farside_at_++) {                       \
            farside_list_(&farside_some_,                                                          \
                          (const void *)((uintptr_t)(base)                                         \
                                         + (uintptr_t)(indices)[farside_at_] * (size)),            \
                          farside_at_ + 1 == farside_count_);                                      \
        }                                                                                          \
    } while (0)

/*
 * void farside_done(const void *address, size_t size): the program will not use this range again
 * soon. The pages that lie in it as a whole leave before others.
 */
FARSIDE_INLINE void farside_done(const void *address, size_t size) {
    if ((uintptr_t)address - farside_view.base < farside_view.length) farside_view.done(address, size);
}

/*
 * int farside_pin(const void *address, size_t size): brings all pages of this range here, and keeps
 * them until farside_unpin() was called for the same range as often as farside_pin().
 *
 * Returns 0, or -1, and sets errno, if
 *   ENOMEM  more than half of the local memory would be pinned.
 */
FARSIDE_INLINE int farside_pin(const void *address, size_t size) {
    if ((uintptr_t)address - farside_view.base >= farside_view.length) return 0;
    return farside_view.pin(address, size);
}

/* void farside_unpin(const void *address, size_t size): see farside_pin(). */
FARSIDE_INLINE void farside_unpin(const void *address, size_t size) {
    if ((uintptr_t)address - farside_view.base < farside_view.length) {
        farside_view.unpin(address, size);
    }
}

/*
 * int farside_start(const void *address, how...): a hint of a task that can wait while the thread
 * does others. Sends for what is far and returns at once: 0 if there is nothing to wait for, else 1.
 */
#define farside_start(address, ...)                                                                \
    __extension__({                                                                                \
        const struct farside_how farside_how_ = {.unused_ = 0, ##__VA_ARGS__};                     \
        farside_start_((const void *)(address), farside_how_);                                     \
    })

/*
 * int farside_arrived(const void *address, size_t size): after farside_start() returned 1, whether
 * the task can go on, 0 or 1. Any thread may ask; somebody has to, now and then.
 */
FARSIDE_INLINE int farside_arrived(const void *address, size_t size) {
    struct farside_how how = {0, 0, 0, 0, 0, 0};
    how.size = size;
    return farside_is_served_(address, how) || farside_view.arrived(address, size);
}

/*
 * void farside_wait_with(void (*call)(void *), void *argument): whenever this thread would wait for
 * what a hint is about, it calls `call(argument)` instead, again and again until it is here. That is
 * for libraries that switch between tasks: `call` is to let another task run. With a null pointer
 * the thread waits, as it does at first.
 */
extern void farside_wait_with(void (*call)(void *), void *argument) FARSIDE_WEAK;

#define farside_wait_with(call, argument)                                                          \
    ((void)(farside_wait_with ? (farside_wait_with(call, argument), 0) : 0))

/*
 * int farside_region(const void *address, size_t size, const char *replacement): from now on the
 * pages that lie in this range as a whole are evicted by a replacement policy of their own: "fifo",
 * "second-chance", "priority", "eden", "adaptive", "bimodal", "lru", "mru", "clock", "lirs" or "region";
 * with a null pointer, by that of the run again. NULL and SIZE_MAX as the range are all far memory.
 * Of two calls the later one counts, where they overlap. In a run whose policy is "region", that name
 * makes the range a region of it: what of the range comes from then on, if it is 1 MiB and more.
 *
 * Regions and the rest of memory give up pages in proportion to how many they have here.
 *
 * Returns 0, or -1, and sets errno, if
 *   EINVAL  a run has no policy of that name, or no page of far memory lies in the range,
 *   ENOSPC  there are 14 regions already.
 */
extern int farside_region(const void *address, size_t size, const char *replacement) FARSIDE_WEAK;

#define farside_region(address, size, replacement)                                                 \
    (farside_region ? farside_region((const void *)(address), size, replacement) : 0)

/*
 * size_t farside_local_limit(void): the bytes of the program's far memory that may be resident at the moment; SIZE_MAX if all
 * may; 0 if it does not run under Farside. A limit that is a percentage below 100 grows with the program.
 */
extern size_t farside_local_limit(void) FARSIDE_WEAK;

#define farside_local_limit() (farside_local_limit ? farside_local_limit() : (size_t)0)

/*
 * int farside_tag(const void *address, size_t size): the words that lie in this range as a whole hold
 * pointers, which may be followed when their page is fetched.
 * int farside_untag(const void *address, size_t size): they hold none.
 *
 * In a page of which anything was said only words that were tagged are followed; elsewhere every word
 * that looks like a pointer may be. What is said stays true while pages are evicted and fetched, until
 * it is said otherwise or the memory is given back to the kernel: who writes a number over a pointer,
 * or frees it, untags it.
 *
 * Returns 0, or -1, and sets errno, if
 *   ENOMEM  there is no room to keep that.
 */
extern int farside_tag(const void *address, size_t size) FARSIDE_WEAK;
extern int farside_untag(const void *address, size_t size) FARSIDE_WEAK;

#define farside_tag(address, size) (farside_tag ? farside_tag((const void *)(address), size) : 0)
#define farside_untag(address, size)                                                               \
    (farside_untag ? farside_untag((const void *)(address), size) : 0)

#ifdef __cplusplus
}

namespace farside {

/* Keeps a range here as long as it lives, if it can: `if (farside::pinned hot{table, sizeof table})`. */
class pinned {
public:
    pinned(const void *address, size_t size)
        : address_(address), size_(size), holds_(farside_pin(address, size) == 0) {}
    ~pinned() {
        if (holds_) farside_unpin(address_, size_);
    }
    operator bool() const { return holds_; }

private:
    pinned(const pinned &);
    pinned &operator=(const pinned &);
    const void *address_;
    size_t size_;
    bool holds_;
};

}
#endif

#else

#define farside_begin(mode) ((void)(mode), 0)
#define farside_end() (0)
#define farside_hint(address, ...) ((void)(address))
#define farside_start(address, ...) ((void)(address), 0)
#define farside_arrived(address, size) ((void)(address), (void)(size), 1)
#define farside_ahead(addresses, count) ((void)(addresses), (void)(count))
#define farside_ahead_strided(address, stride, count) ((void)(address), (void)(stride), (void)(count))
#define farside_ahead_indirect(base, size, indices, count)                                         \
    ((void)(base), (void)(size), (void)(indices), (void)(count))
#define farside_done(address, size) ((void)(address), (void)(size))
#define farside_pin(address, size) ((void)(address), (void)(size), 0)
#define farside_unpin(address, size) ((void)(address), (void)(size))
#define farside_region(address, size, replacement)                                                 \
    ((void)(address), (void)(size), (void)(replacement), 0)
#define farside_wait_with(call, argument) ((void)(call), (void)(argument))

#endif

#endif
