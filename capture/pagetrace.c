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
#include <unistd.h>

#include "groups.h"
#include "lane.h"
#include "qemu_plugin.h"
#include "space.h"

enum {
    WIDEST_ACCESS = 32, /* bytes that one callback may be about */
    MOST_VCPUS = 1 << 16,
    SPACE_BYTES = 1 << 16, /* of the description of the address space */
};

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

/* The lane of each virtual processor; a thread that is not traced has one that nobody reads. */
static struct lane *lanes[MOST_VCPUS];
/* The arguments of a virtual processor's system call, until its result is known. */
static uint64_t (*arguments)[6];
/* The bit of an access's description that says that it writes; negative if there is none. */
static int store_bit;
/* The lowest address of QEMU itself; the program's first mappings lie below. */
static unsigned long lowest_own;

/* An access of so many bytes, which may lie in more pages than one. */
static void reach_bytes(struct lane *lane, uint64_t address, uint64_t bytes, bool wrote)
{
    uint64_t last = base_of(address + bytes - 1);
    for (uint64_t base = base_of(address); base != last; base += PAGE_BYTES)
        reach_page(lane, base, wrote);
    reach_page(lane, last, wrote);
}

/* An access to two pages, or outside a stretch, or that comes where the lane needs a closer look. */
static __attribute__((noinline)) void on_odd_access(struct lane *lane, qemu_plugin_meminfo_t info,
                                                    uint64_t address)
{
    uint64_t bytes = (uint64_t)1 << qemu_plugin_mem_size_shift(info);
    reach_bytes(lane, address, bytes, qemu_plugin_mem_is_store(info));
}

/* Whether the open run can be put into the ring at once, and another one begun. */
static inline bool can_turn(const struct lane *lane, uint64_t open)
{
    return lane->head < lane->fast_limit && open < (RUN_WEIGHT_MOST + 1) << RUN_WEIGHT_SHIFT;
}

/* Puts the open run into the ring and begins another one. */
static inline void turn_page(struct lane *lane, uint64_t base, uint64_t open)
{
    put(lane, 0, run_word(lane->base, lane->open));
    lane->base = base;
    lane->open = open;
    publish(lane, 1);
}

static inline __attribute__((always_inline)) void on_one(unsigned int vcpu,
                                                         qemu_plugin_meminfo_t info,
                                                         uint64_t address, uint64_t wrote)
{
    struct lane *lane = lanes[vcpu];
    uint64_t open = lane->open;
    if (address - lane->base <= PAGE_BYTES - WIDEST_ACCESS)
        lane->open = (open | wrote) + (1 << RUN_WEIGHT_SHIFT);
    else if (likely((address & (PAGE_BYTES - 1)) <= PAGE_BYTES - WIDEST_ACCESS &&
                    can_turn(lane, open)))
        turn_page(lane, base_of(address), 1 << RUN_WEIGHT_SHIFT | wrote);
    else
        on_odd_access(lane, info, address);
}

static void on_read(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *user)
{
    (void)user;
    on_one(vcpu, info, address, 0);
}

static void on_write(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *user)
{
    (void)user;
    on_one(vcpu, info, address, RUN_WROTE);
}

/* A read or a write. */
static void on_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *user)
{
    (void)user;
    on_one(vcpu, info, address, info >> store_bit & 1 ? RUN_WROTE : 0);
}

/* For a QEMU whose descriptions of accesses have no bit that says store. */
static void on_opaque_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address,
                             void *user)
{
    (void)user;
    on_odd_access(lanes[vcpu], info, address);
}

/* A group that does not lie within a page, or comes where the lane needs a closer look. */
static __attribute__((noinline)) void on_odd_group(struct lane *lane, qemu_plugin_meminfo_t info,
                                                   uint64_t address, const struct group *group)
{
    on_odd_access(lane, info, address);
    for (unsigned int i = 0; i < group->members; i++) {
        const struct member *member = &group->member[i];
        if (member->kind & ACCESS_READ)
            reach_bytes(lane, address + member->delta, member->bytes, false);
        if (member->kind & ACCESS_WRITE)
            reach_bytes(lane, address + member->delta, member->bytes, true);
    }
}

/* The first access of a group; the others will be made, and are not told of. */
static void on_group(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *user)
{
    const struct group *group = user;
    struct lane *lane = lanes[vcpu];
    uint64_t lowest = address + group->lowest, open = lane->open, wrote = group->run & RUN_WROTE;
    if (lowest - lane->base <= group->slack)
        lane->open = (open | wrote) + (group->run - wrote);
    else if (likely((lowest & (PAGE_BYTES - 1)) <= group->slack && can_turn(lane, open)))
        turn_page(lane, base_of(lowest), group->run);
    else
        on_odd_group(lane, info, address, group);
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
    send_message(lane, MESSAGE_THREAD, &number, 1, "", 0);
}

static void on_thread_end(qemu_plugin_id_t id, unsigned int vcpu)
{
    struct lane *lane = lanes[vcpu];
    (void)id;
    if (lane_is_read(lane))
        leave_lane(lane);
    else
        munmap(lane, sizeof *lane);
    lanes[vcpu] = NULL;
}

static void trace_alone(struct qemu_plugin_insn *instruction, enum access_kind kind)
{
    qemu_plugin_vcpu_mem_cb_t callback = kind == ACCESS_READ    ? on_read
                                         : kind == ACCESS_WRITE ? on_write
                                         : store_bit >= 0       ? on_access
                                                                : on_opaque_access;
    qemu_plugin_register_vcpu_mem_cb(instruction, callback, QEMU_PLUGIN_CB_NO_REGS,
                                     QEMU_PLUGIN_MEM_RW, NULL);
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
            send_message(lanes[0], MESSAGE_SPACE, NULL, 0, text,
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
        send_message(lane, MESSAGE_EXEC, NULL, 0, "", 0);
    }
}

static void on_call_end(qemu_plugin_id_t id, unsigned int vcpu, int64_t number, int64_t result)
{
    struct lane *lane = lanes[vcpu];
    (void)id;
    if (replaces_program(number)) {
        if (muted)
            __atomic_sub_fetch(&stream->fork_execs, 1, __ATOMIC_RELAXED);
        send_message(lane, MESSAGE_NO_EXEC, NULL, 0, "", 0);
    }
    if (muted || !changes_space(number) || (result < 0 && result >= -4095))
        return;
    char name[NAME_BYTES];
    uint64_t words[8] = { number, result };
    memcpy(words + 2, arguments[vcpu], sizeof arguments[vcpu]);
    size_t length = number == SYS_mmap ? mapped_file(arguments[vcpu], name) : 0;
    send_message(lane, MESSAGE_CALL, words, 8, name, length);
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
