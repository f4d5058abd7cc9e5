/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread's side of the shared memory: its lane, and what it puts there. stream.h describes the words
 * and why their order can be told.
 */
#ifndef PAGETRACE_LANE_H
#define PAGETRACE_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stream.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* What `farside capture` shares with the plugin, and its process. */
extern struct stream *stream;
extern pid_t parent;
/* Whether this process is a child that is not traced. */
extern bool muted;
extern uint64_t live_threads;

/* A lane for a thread that begins; NULL if all are taken. */
struct lane *claim_lane(void);

/* A lane that nobody reads. */
struct lane *scratch_lane(void);

/* Whether a lane is one of `stream`. */
bool lane_is_read(const struct lane *lane);

/* The thread is over: what is in its lane is all there will be. */
void leave_lane(struct lane *lane);

/* An access to the page that begins at `base`, whichever was the last. */
void reach_page(struct lane *lane, uint64_t base, bool wrote);

/* Puts the open run, if there is one, into the ring. */
void close_run(struct lane *lane);

/* Ends the stretch in which the thread is the only one, if it is in one. */
void end_stretch(struct lane *lane);

/* Sends a message: `count` words and then `length` bytes of text. */
void send_message(struct lane *lane, enum message_kind kind, const uint64_t *words, uint64_t count,
                  const char *text, size_t length);

static inline void put(struct lane *lane, uint64_t offset, uint64_t word)
{
    lane->ring[(lane->head + offset) % STREAM_RING_WORDS] = word;
}

static inline void publish(struct lane *lane, uint64_t words)
{
    __atomic_store_n(&lane->head, lane->head + words, __ATOMIC_RELEASE);
}

/* One access, as `open` counts it. */
static inline uint64_t one_access(bool wrote)
{
    return 1 << RUN_WEIGHT_SHIFT | (wrote ? RUN_WROTE : 0);
}

/* The page that an address is in, by the address at which it begins. */
static inline uint64_t base_of(uint64_t address)
{
    return address & -(uint64_t)PAGE_BYTES;
}

static inline uint64_t run_word(uint64_t base, uint64_t open)
{
    return base << (RUN_PAGE_SHIFT - PAGE_BITS) | (open - (1 << RUN_WEIGHT_SHIFT)) | WORD_RUN;
}

#endif
