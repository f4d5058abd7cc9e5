/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A plugin for QEMU user mode: tells `farside capture` every data access of the emulated program
 * at the granularity of pages. stream.h describes how.
 *
 * Plugin arguments: fd=N, the descriptor of the shared memory; parent=PID, who reads it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "groups.h"
#include "qemu_plugin.h"
#include "space.h"
#include "stream.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

enum {
    PAGE_BITS = 12,
    PAGE_BYTES = 1 << PAGE_BITS,
    WIDEST_ACCESS = 32, /* bytes that one callback may be about */
    MOST_VCPUS = 1 << 16,
    SPACE_BYTES = 1 << 16, /* of the description of the address space */
};

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

static struct stream *stream;
/* The lane of each virtual processor; a thread that is not traced has one that nobody reads. */
static struct lane *lanes[MOST_VCPUS];
/* The arguments of a virtual processor's system call, until its result is known. */
static uint64_t (*arguments)[6];
static uint64_t live_threads;
static pid_t parent;
/* Whether this process is a child that is not traced. */
static bool muted;
/* The bit of an access's description that says that it writes; negative if there is none. */
static int store_bit;
/* The lowest address of QEMU itself; the program's first mappings lie below. */
static unsigned long lowest_own;

/* A lane that nobody reads. */
static struct lane *scratch_lane(void)
{
    struct lane *lane = mmap(NULL, sizeof *lane, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (lane == MAP_FAILED) {
        fputs("farside: no memory for an untraced thread\n", stderr);
        abort();
    }
    lane->page = NO_PAGE;
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

static inline void need_room(struct lane *lane, uint64_t words)
{
    if (unlikely(lane->head + words > lane->limit))
        await_room(lane, words);
}

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

static inline uint64_t run_word(uint64_t page, uint64_t open)
{
    return page << RUN_PAGE_SHIFT | (open - (1 << RUN_WEIGHT_SHIFT)) | WORD_RUN;
}

static uint64_t next_place(void)
{
    return __atomic_add_fetch(&stream->places, 1, __ATOMIC_SEQ_CST);
}

/* Puts the open run, if there is one, into the ring. */
static void close_run(struct lane *lane)
{
    lane->fast_limit = 0;
    if (lane->page == NO_PAGE)
        return;
    uint64_t page = lane->page, wrote = lane->open & RUN_WROTE, words = 0;
    uint64_t weight = lane->open >> RUN_WEIGHT_SHIFT;
    /* The first piece takes the run's place, further ones take new ones. */
    uint64_t place = lane->in_stretch ? 0 : lane->place;
    while (weight > 0) {
        uint64_t piece = weight < RUN_WEIGHT_MOST ? weight : RUN_WEIGHT_MOST;
        need_room(lane, 2);
        words = 0;
        if (!lane->in_stretch)
            put(lane, words++, (place ? place : next_place()) << 2 | WORD_TICKET);
        put(lane, words++, run_word(page, piece << RUN_WEIGHT_SHIFT | wrote));
        weight -= piece;
        /* What is published is not open any more, should the thread be killed here. */
        if (weight == 0)
            lane->page = NO_PAGE;
        else
            lane->open = weight << RUN_WEIGHT_SHIFT | wrote;
        publish(lane, words);
        place = 0;
    }
}

static void end_stretch(struct lane *lane)
{
    if (lane->in_stretch && !muted && lane->limit != UINT64_MAX) {
        need_room(lane, 1);
        put(lane, 0, MESSAGE_END << 2 | WORD_MESSAGE);
        publish(lane, 1);
        lane->in_stretch = 0;
    }
}

/* Opens a run that takes a place of its own, or a stretch if the thread is the only one. */
static void open_placed_run(struct lane *lane, uint64_t page, bool wrote)
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
    __atomic_store_n(&lane->page, page, __ATOMIC_RELEASE);
    __atomic_store_n(&lane->open_head, lane->head, __ATOMIC_RELEASE);
}

/* An access to a page, whichever was the last. */
static void reach_page(struct lane *lane, uint64_t page, bool wrote)
{
    if (page == lane->page) {
        lane->open = (lane->open + (1 << RUN_WEIGHT_SHIFT)) | (wrote ? RUN_WROTE : 0);
        return;
    }
    close_run(lane);
    if (lane->in_stretch) {
        lane->open = one_access(wrote);
        lane->page = page;
        lane->fast_limit = lane->limit;
    } else {
        open_placed_run(lane, page, wrote);
    }
}

/* An access to another page than the thread's last one, or to two pages, or outside a stretch. */
static __attribute__((noinline)) void turn_page(struct lane *lane, qemu_plugin_meminfo_t info,
                                                uint64_t address)
{
    bool wrote = qemu_plugin_mem_is_store(info);
    uint64_t last = address + ((uint64_t)1 << qemu_plugin_mem_size_shift(info)) - 1;
    for (uint64_t page = address >> PAGE_BITS; page <= last >> PAGE_BITS; page++)
        reach_page(lane, page, wrote);
}

static void on_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *user)
{
    struct lane *lane = lanes[vcpu];
    uint64_t page = address >> PAGE_BITS, open = lane->open;
    bool wrote = info >> store_bit & 1;
    (void)user;
    if (unlikely((address & (PAGE_BYTES - 1)) > PAGE_BYTES - WIDEST_ACCESS)) {
        turn_page(lane, info, address);
    } else if (page == lane->page) {
        lane->open = (open | (wrote ? RUN_WROTE : 0)) + (1 << RUN_WEIGHT_SHIFT);
    } else if (likely(lane->head < lane->fast_limit &&
                      open < (RUN_WEIGHT_MOST + 1) << RUN_WEIGHT_SHIFT)) {
        put(lane, 0, run_word(lane->page, open));
        lane->page = page;
        lane->open = one_access(wrote);
        publish(lane, 1);
    } else {
        turn_page(lane, info, address);
    }
}

/* For a QEMU whose descriptions of accesses have no bit that says store. */
static void on_opaque_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address,
                             void *user)
{
    (void)user;
    turn_page(lanes[vcpu], info, address);
}

/* One access of those that a group is made of. */
static void on_member(struct lane *lane, uint64_t address, uint64_t bytes, bool wrote)
{
    uint64_t last = address + bytes - 1;
    for (uint64_t page = address >> PAGE_BITS; page <= last >> PAGE_BITS; page++)
        reach_page(lane, page, wrote);
}

/* A group that does not lie within a page, or comes where the lane needs a closer look. */
static __attribute__((noinline)) void on_odd_group(struct lane *lane, qemu_plugin_meminfo_t info,
                                                   uint64_t address, const struct group *group)
{
    turn_page(lane, info, address);
    for (unsigned int i = 0; i < group->members; i++) {
        const struct member *member = &group->member[i];
        if (member->kind & ACCESS_READ)
            on_member(lane, address + member->delta, member->bytes, false);
        if (member->kind & ACCESS_WRITE)
            on_member(lane, address + member->delta, member->bytes, true);
    }
}

/* The first access of a group; the others will be made, and are not told of. */
static void on_group(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *user)
{
    const struct group *group = user;
    struct lane *lane = lanes[vcpu];
    uint64_t page = (address + group->lowest) >> PAGE_BITS, open = lane->open;
    uint64_t wrote = group->wrote ? RUN_WROTE : 0;
    uint64_t weight = (uint64_t)group->accesses << RUN_WEIGHT_SHIFT;
    if (unlikely(page != (address + group->highest) >> PAGE_BITS ||
                 open >= (RUN_WEIGHT_MOST - GROUP_ACCESSES) << RUN_WEIGHT_SHIFT)) {
        on_odd_group(lane, info, address, group);
    } else if (page == lane->page) {
        lane->open = (open | wrote) + weight;
    } else if (likely(lane->head < lane->fast_limit)) {
        put(lane, 0, run_word(lane->page, open));
        lane->page = page;
        lane->open = weight | wrote;
        publish(lane, 1);
    } else {
        on_odd_group(lane, info, address, group);
    }
}

/* Sends a message: `count` words and then `length` bytes of text. */
static void send(struct lane *lane, enum message_kind kind, const uint64_t *words, uint64_t count,
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

static struct lane *claim_lane(void)
{
    bool soon = !muted;
    struct lane *lane = NULL;
    while (soon && !(lane = find_lane(&soon)) && soon && !reader_is_gone())
        nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
    if (lane) {
        lane->page = NO_PAGE;
        lane->limit = lane->tail + STREAM_RING_WORDS;
        lane->in_stretch = lane->fast_limit = 0;
    }
    return lane;
}

static void on_thread_start(qemu_plugin_id_t id, unsigned int vcpu)
{
    (void)id;
    if (vcpu >= MOST_VCPUS) {
        fprintf(stderr, "farside: more than %d threads at once\n", MOST_VCPUS);
        abort();
    }
    struct lane *lane = claim_lane();
    lanes[vcpu] = lane ? lane : scratch_lane();
    if (!lane) {
        __atomic_add_fetch(&stream->untraced_threads, !muted, __ATOMIC_RELAXED);
        return;
    }
    __atomic_add_fetch(&live_threads, 1, __ATOMIC_ACQ_REL);
    uint64_t number = __atomic_fetch_add(&stream->threads, 1, __ATOMIC_RELAXED);
    send(lane, MESSAGE_THREAD, &number, 1, "", 0);
}

static void on_thread_end(qemu_plugin_id_t id, unsigned int vcpu)
{
    struct lane *lane = lanes[vcpu];
    (void)id;
    if (lane < stream->lanes || lane >= stream->lanes + STREAM_LANES) {
        munmap(lane, sizeof *lane);
    } else {
        close_run(lane);
        end_stretch(lane);
        __atomic_sub_fetch(&live_threads, 1, __ATOMIC_ACQ_REL);
        __atomic_store_n(&lane->state, LANE_ENDED, __ATOMIC_RELEASE);
    }
    lanes[vcpu] = NULL;
}

static void trace_alone(struct qemu_plugin_insn *instruction)
{
    qemu_plugin_register_vcpu_mem_cb(instruction, store_bit >= 0 ? on_access : on_opaque_access,
                                     QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, NULL);
}

static void trace_group(struct qemu_plugin_insn *const *instructions, const struct group *group)
{
    qemu_plugin_register_vcpu_mem_cb(instructions[0], on_group, QEMU_PLUGIN_CB_NO_REGS,
                                     QEMU_PLUGIN_MEM_RW, (void *)group);
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    static bool described;
    (void)id;
    /* Before the program's first instruction there is one thread, and its image is loaded. */
    if (!described) {
        described = true;
        char *text = malloc(SPACE_BYTES);
        if (text)
            send(lanes[0], MESSAGE_SPACE, NULL, 0, text,
                 describe_space(text, SPACE_BYTES, lowest_own));
        free(text);
    }
    group_block(tb, &(struct block_listener){ .alone = trace_alone, .group = trace_group });
}

static bool replaces_program(int64_t number)
{
    return number == SYS_execve || number == SYS_execveat;
}

static void on_call(qemu_plugin_id_t id, unsigned int vcpu, int64_t number, uint64_t a1,
                    uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7,
                    uint64_t a8)
{
    struct lane *lane = lanes[vcpu];
    (void)id, (void)a7, (void)a8;
    memcpy(arguments[vcpu], (uint64_t[]){ a1, a2, a3, a4, a5, a6 }, sizeof arguments[vcpu]);
    /* A thread may wait in the call for long, or start another one: it holds up nothing. */
    close_run(lane);
    end_stretch(lane);
    if (replaces_program(number)) {
        if (muted)
            __atomic_add_fetch(&stream->fork_execs, 1, __ATOMIC_RELAXED);
        send(lane, MESSAGE_EXEC, NULL, 0, "", 0);
    }
}

static void on_call_end(qemu_plugin_id_t id, unsigned int vcpu, int64_t number, int64_t result)
{
    struct lane *lane = lanes[vcpu];
    (void)id;
    if (replaces_program(number)) {
        if (muted)
            __atomic_sub_fetch(&stream->fork_execs, 1, __ATOMIC_RELAXED);
        send(lane, MESSAGE_NO_EXEC, NULL, 0, "", 0);
    }
    if (muted || !changes_space(number) || (result < 0 && result >= -4095))
        return;
    char name[NAME_BYTES];
    uint64_t words[8] = { number, result };
    memcpy(words + 2, arguments[vcpu], sizeof arguments[vcpu]);
    size_t length = number == SYS_mmap ? mapped_file(arguments[vcpu], name) : 0;
    send(lane, MESSAGE_CALL, words, 8, name, length);
}

/* A forked child goes on untraced: its only thread writes where nobody reads. */
static void on_fork(void)
{
    muted = true;
    __atomic_add_fetch(&stream->forks, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < MOST_VCPUS; i++)
        if (lanes[i])
            lanes[i] = scratch_lane();
}

static void find_store_bit(void)
{
    store_bit = -1;
    for (int bit = 0; bit < 32; bit++) {
        uint32_t mask = (uint32_t)1 << bit;
        if (qemu_plugin_mem_is_store(mask) && !qemu_plugin_mem_is_store(~mask))
            store_bit = bit;
    }
}

static int refuse(const char *why)
{
    fprintf(stderr, "farside: the capture plugin: %s\n", why);
    return -1;
}

static int attach(int fd)
{
    size_t size = sizeof *stream + STREAM_LANES * sizeof(struct lane);
    stream = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    /* The program finds its descriptors numbered as ever. */
    close(fd);
    if (stream == MAP_FAILED)
        return refuse("cannot map the memory it shares with farside");
    if (stream->magic != STREAM_MAGIC || stream->lane_bytes != sizeof(struct lane) ||
        stream->lane_count != STREAM_LANES)
        return refuse("it is of another version than farside itself; install both anew");
    size = sizeof *arguments * MOST_VCPUS;
    arguments = mmap(NULL, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return arguments == MAP_FAILED ? refuse("no memory") : 0;
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
                                           char **argv)
{
    int fd = -1;
    for (int i = 0; i < argc; i++) {
        if (!strncmp(argv[i], "fd=", 3))
            fd = atoi(argv[i] + 3);
        else if (!strncmp(argv[i], "parent=", 7))
            parent = atoi(argv[i] + 7);
    }
    if (fd < 0 || parent <= 0)
        return refuse("it is started by farside capture only");
    if (info->system_emulation || strcmp(info->target_name, "x86_64"))
        return refuse("it traces x86-64 programs in QEMU's user mode only");
    if (attach(fd))
        return -1;
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps || fscanf(maps, "%lx", &lowest_own) != 1)
        lowest_own = 0;
    if (maps)
        fclose(maps);
    find_store_bit();
    pthread_atfork(NULL, NULL, on_fork);
    qemu_plugin_register_vcpu_init_cb(id, on_thread_start);
    qemu_plugin_register_vcpu_exit_cb(id, on_thread_end);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_vcpu_syscall_cb(id, on_call);
    qemu_plugin_register_vcpu_syscall_ret_cb(id, on_call_end);
    __atomic_store_n(&stream->attached, 1, __ATOMIC_RELEASE);
    return 0;
}
