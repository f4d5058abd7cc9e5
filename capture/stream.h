/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the plugin hands its records to `farside capture`: the layout of the memory they share.
 *
 * The memory is a header followed by lanes. A lane belongs to one thread of the program at a time
 * and is a ring of 64-bit words with one writer and one reader.
 *
 * Words. The two lowest bits say what a word is:
 *
 *   RUN      accesses of one thread to one page without another page between them: bit 2 is set
 *            if any of them wrote, bits 3-15 are their number less one, bits 16-63 the page.
 *   TICKET   what comes next has the place in the order that bits 2-63 say. A RUN or MESSAGE takes
 *            one place.
 *   STRETCH  what follows, up to the word END, takes together the place that bits 2-63 say: the
 *            thread is the only one, and nothing can come between.
 *   MESSAGE  bits 2-7 are its kind, bits 8-31 the number of words that follow and belong to it.
 *
 * Order. Places are numbered from 1 without gaps, by one counter that all threads increment. A run
 * takes its place right after its first access and before the thread's next instruction: what one
 * thread does before it lets another go on comes first in the order. Only when a thread is killed
 * in between is a place left out. The accesses of a group (groups.h) are told with its first one, a few
 * instructions before they are made.
 */
#ifndef PAGETRACE_STREAM_H
#define PAGETRACE_STREAM_H

#include <stdint.h>

#define STREAM_MAGIC 0x3265636172746670ull /* "pftrace2" */

enum {
    STREAM_LANES = 1024,
    STREAM_RING_WORDS = 1 << 17,
    STREAM_HEADER_BYTES = 4096,
    STREAM_LANE_BYTES = 4096 + STREAM_RING_WORDS * 8,
};

enum { PAGE_BITS = 12, PAGE_BYTES = 1 << PAGE_BITS };

enum word_kind { WORD_RUN, WORD_TICKET, WORD_STRETCH, WORD_MESSAGE };

enum {
    RUN_WROTE = 1 << 2,
    RUN_WEIGHT_SHIFT = 3,
    RUN_WEIGHT_MOST = 1 << 13,
    RUN_PAGE_SHIFT = 16,
};

enum message_kind {
    MESSAGE_END,       /* of a stretch; nothing follows, and it takes no place */
    MESSAGE_THREAD,    /* its number: the thread of what follows in the lane */
    MESSAGE_SPACE,     /* lines of /proc/self/maps: the address space at the start */
    MESSAGE_CALL,      /* number, result, six arguments, name of the file: of a system call */
    MESSAGE_EXEC,      /* the program asks to be replaced */
    MESSAGE_NO_EXEC,   /* and was not */
};

enum lane_state { LANE_FREE, LANE_LIVE, LANE_ENDED };

struct lane {
    /* The writer's. `base` and what follows are the open run, which is not in the ring yet. */
    uint64_t base;      /* address of its page; NO_PAGE if there is none */
    uint64_t open;      /* number of accesses from bit 3 on, and bit 2, as in a RUN */
    uint64_t place;     /* 0 in a stretch */
    uint64_t open_head; /* outside stretches `head` when the run was opened: with another one it is
                           being closed */
    uint64_t head;      /* words written since ever */
    uint64_t limit;     /* `head` at which the writer has to look at `tail` */
    uint64_t fast_limit; /* the same with a run open in a stretch, else 0 */
    uint64_t in_stretch;
    uint64_t state; /* enum lane_state */
    uint64_t padding[7];
    /* The reader's. */
    uint64_t tail; /* words read since ever */
    uint64_t rest[495];
    uint64_t ring[STREAM_RING_WORDS];
};

/* No page of a program begins here, nor is any of its addresses a page's length behind it. */
#define NO_PAGE (1ull << 63)

struct stream {
    uint64_t magic;
    uint64_t lane_bytes; /* both sides check that they were built from the same layout */
    uint64_t lane_count;
    uint64_t stop;             /* by the reader: nothing is read any more */
    uint64_t attached;         /* by the writer: it is there */
    uint64_t threads;          /* numbers given to threads */
    uint64_t forks;            /* child processes, none of which is traced */
    uint64_t fork_execs;       /* programs that they became */
    uint64_t untraced_threads; /* for want of a lane */
    uint64_t lanes_used;       /* lanes beyond these were never claimed */
    uint64_t padding[6];
    uint64_t places; /* the last place given; a cache line of its own */
    uint64_t rest[495];
    struct lane lanes[];
};

_Static_assert(sizeof(struct lane) == STREAM_LANE_BYTES, "layout of a lane");
_Static_assert(sizeof(struct stream) == STREAM_HEADER_BYTES, "layout of the header");

#endif
