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
    PAGE_BITS = 12,
    PAGE_BYTES = 1 << PAGE_BITS,
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
