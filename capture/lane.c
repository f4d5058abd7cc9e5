/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "lane.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct stream *stream;
pid_t parent;
bool muted;
uint64_t live_threads;

struct lane *scratch_lane(void)
{
    struct lane *lane = mmap(NULL, sizeof *lane, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (lane == MAP_FAILED) {
        fputs("farside: no memory for an untraced thread\n", stderr);
        abort();
    }
    lane->base = NO_PAGE;
    lane->in_stretch = 1;
    lane->limit = UINT64_MAX;
    return lane;
}

static bool reader_is_gone(void)
{
    return __atomic_load_n(&stream->stop, __ATOMIC_RELAXED) || getppid() != parent;
}

/* Waits until the reader has made room, or is gone; then the lane is written without being read. */
static __attribute__((noinline)) void await_room(struct lane *lane, uint64_t words)
{
    for (unsigned round = 0;; round++) {
        uint64_t tail = __atomic_load_n(&lane->tail, __ATOMIC_ACQUIRE);
        if (lane->head + words - tail <= STREAM_RING_WORDS) {
            lane->limit = tail + STREAM_RING_WORDS;
            return;
        }
        if (reader_is_gone()) {
            lane->limit = UINT64_MAX;
            return;
        }
        struct timespec pause = { .tv_nsec = round < 20 ? 20000 : 200000 };
        nanosleep(&pause, NULL);
    }
}

static void need_room(struct lane *lane, uint64_t words)
{
    if (unlikely(lane->head + words > lane->limit))
        await_room(lane, words);
}

static uint64_t next_place(void)
{
    return __atomic_add_fetch(&stream->places, 1, __ATOMIC_SEQ_CST);
}

void close_run(struct lane *lane)
{
    lane->fast_limit = 0;
    if (lane->base == NO_PAGE)
        return;
    uint64_t base = lane->base, wrote = lane->open & RUN_WROTE, words = 0;
    uint64_t weight = lane->open >> RUN_WEIGHT_SHIFT;
    /* The first piece takes the run's place, further ones take new ones. */
    uint64_t place = lane->in_stretch ? 0 : lane->place;
    while (weight > 0) {
        uint64_t piece = weight < RUN_WEIGHT_MOST ? weight : RUN_WEIGHT_MOST;
        need_room(lane, 2);
        words = 0;
        if (!lane->in_stretch)
            put(lane, words++, (place ? place : next_place()) << 2 | WORD_TICKET);
        put(lane, words++, run_word(base, piece << RUN_WEIGHT_SHIFT | wrote));
        weight -= piece;
        /* What is published is not open any more, should the thread be killed here. */
        if (weight == 0)
            lane->base = NO_PAGE;
        else
            lane->open = weight << RUN_WEIGHT_SHIFT | wrote;
        publish(lane, words);
        place = 0;
    }
}

void end_stretch(struct lane *lane)
{
    if (lane->in_stretch && !muted && lane->limit != UINT64_MAX) {
        need_room(lane, 1);
        put(lane, 0, MESSAGE_END << 2 | WORD_MESSAGE);
        publish(lane, 1);
        lane->in_stretch = 0;
    }
}

/* Opens a run that takes a place of its own, or a stretch if the thread is the only one. */
static void open_placed_run(struct lane *lane, uint64_t base, bool wrote)
{
    /* Looked at first: what a thread that has ended since did has its place before this one. */
    bool alone = __atomic_load_n(&live_threads, __ATOMIC_ACQUIRE) == 1;
    uint64_t place = next_place();
    if (alone) {
        need_room(lane, 1);
        put(lane, 0, place << 2 | WORD_STRETCH);
        publish(lane, 1);
        lane->in_stretch = 1;
        lane->fast_limit = lane->limit;
        place = 0;
    }
    lane->place = place;
    lane->open = one_access(wrote);
    __atomic_store_n(&lane->base, base, __ATOMIC_RELEASE);
    __atomic_store_n(&lane->open_head, lane->head, __ATOMIC_RELEASE);
}

void reach_page(struct lane *lane, uint64_t base, bool wrote)
{
    if (base == lane->base) {
        lane->open = (lane->open + (1 << RUN_WEIGHT_SHIFT)) | (wrote ? RUN_WROTE : 0);
        return;
    }
    close_run(lane);
    if (lane->in_stretch) {
        lane->open = one_access(wrote);
        lane->base = base;
        lane->fast_limit = lane->limit;
    } else {
        open_placed_run(lane, base, wrote);
    }
}

void send_message(struct lane *lane, enum message_kind kind, const uint64_t *words, uint64_t count,
                  const char *text, size_t length)
{
    close_run(lane);
    end_stretch(lane);
    if (muted || lane->limit == UINT64_MAX)
        return;
    uint64_t whole = count + (length + 7) / 8;
    need_room(lane, whole + 2);
    put(lane, 0, next_place() << 2 | WORD_TICKET);
    put(lane, 1, whole << 8 | (uint64_t)kind << 2 | WORD_MESSAGE);
    for (uint64_t i = 0; i < count; i++)
        put(lane, 2 + i, words[i]);
    for (uint64_t i = 0; i < whole - count; i++) {
        uint64_t word = 0;
        size_t left = length - i * 8;
        memcpy(&word, text + i * 8, left < 8 ? left : 8);
        put(lane, 2 + count + i, word);
    }
    publish(lane, whole + 2);
}

/* A free lane, if there is one; `soon` says whether there will be. */
static struct lane *find_lane(bool *soon)
{
    *soon = false;
    for (uint64_t i = 0; i < STREAM_LANES; i++) {
        uint64_t found = LANE_FREE;
        struct lane *lane = &stream->lanes[i];
        if (__atomic_compare_exchange_n(&lane->state, &found, LANE_LIVE, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            uint64_t used = __atomic_load_n(&stream->lanes_used, __ATOMIC_RELAXED);
            while (used <= i && !__atomic_compare_exchange_n(&stream->lanes_used, &used, i + 1, false,
                                                            __ATOMIC_RELEASE, __ATOMIC_RELAXED))
                ;
            return lane;
        }
        *soon |= found == LANE_ENDED;
    }
    return NULL;
}

struct lane *claim_lane(void)
{
    bool soon = !muted;
    struct lane *lane = NULL;
    while (soon && !(lane = find_lane(&soon)) && soon && !reader_is_gone())
        nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
    if (lane) {
        lane->base = NO_PAGE;
        lane->limit = lane->tail + STREAM_RING_WORDS;
        lane->in_stretch = lane->fast_limit = 0;
    }
    return lane;
}

bool lane_is_read(const struct lane *lane)
{
    return lane >= stream->lanes && lane < stream->lanes + STREAM_LANES;
}

void leave_lane(struct lane *lane)
{
    close_run(lane);
    end_stretch(lane);
    __atomic_sub_fetch(&live_threads, 1, __ATOMIC_ACQ_REL);
    __atomic_store_n(&lane->state, LANE_ENDED, __ATOMIC_RELEASE);
}
