/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A plugin for QEMU user mode that holds groups against what really happens: every access of every
 * instruction is told of, and has to be the one that its group foretells. It ends the program at the
 * first that is not. At the end it says how much it saw.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../groups.h"

enum { MOST_VCPUS = 1 << 16 };

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

/* What a virtual processor is in the middle of. */
static struct expectation {
    const struct group *group; /* NULL outside groups */
    uint64_t address;          /* of its first access */
    unsigned int next;         /* member */
    bool read;                 /* whether that has been read, and is to be written */
} expectations[MOST_VCPUS];

static uint64_t accesses, groups, foretold, cut;

static void fail(const char *what, unsigned int vcpu, uint64_t address)
{
    const struct expectation *expected = &expectations[vcpu];
    fprintf(stderr, "%s: at %#" PRIx64 ", %" PRIu64 " accesses after the start", what, address,
            accesses);
    if (expected->group && expected->next < expected->group->members) {
        const struct member *member = &expected->group->member[expected->next];
        fprintf(stderr, "; foretold were %d bytes at %#" PRIx64 ", kind %d", member->bytes,
                expected->address + member->delta, member->kind);
    }
    fputc('\n', stderr);
    _Exit(99);
}

static void on_alone(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *user)
{
    (void)info, (void)user;
    accesses++;
    /* Only a signal or a fault leaves a block in the middle, and with it a group. */
    cut += expectations[vcpu].group != NULL;
    if (user && expectations[vcpu].group)
        fail("an access within a group", vcpu, address);
    expectations[vcpu].group = NULL;
}

static void on_alone_read(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *user)
{
    on_alone(vcpu, info, address, user);
    if (qemu_plugin_mem_is_store(info))
        fail("a write by what only reads", vcpu, address);
}

static void on_alone_write(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *user)
{
    on_alone(vcpu, info, address, user);
    if (!qemu_plugin_mem_is_store(info))
        fail("a read by what only writes", vcpu, address);
}

static void on_first(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *user)
{
    const struct group *group = user;
    accesses++;
    cut += expectations[vcpu].group != NULL;
    if (qemu_plugin_mem_is_store(info) != group->wrote)
        fail("a first access of another kind", vcpu, address);
    expectations[vcpu] = (struct expectation){ .group = group, .address = address };
    groups++;
}

static void on_member(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *user)
{
    struct expectation *expected = &expectations[vcpu];
    (void)user;
    accesses++;
    foretold++;
    if (!expected->group)
        fail("a member without its group", vcpu, address);
    const struct member *member = &expected->group->member[expected->next];
    bool store = qemu_plugin_mem_is_store(info);
    if (address != expected->address + member->delta ||
        1u << qemu_plugin_mem_size_shift(info) != member->bytes ||
        !(member->kind & (store ? ACCESS_WRITE : ACCESS_READ)) ||
        store != (member->kind == ACCESS_WRITE || expected->read))
        fail("another access than foretold", vcpu, address);
    if (member->kind == ACCESS_BOTH && !expected->read) {
        expected->read = true;
        return;
    }
    expected->read = false;
    if (++expected->next == expected->group->members)
        expected->group = NULL;
}

static void watch(struct qemu_plugin_insn *instruction, qemu_plugin_vcpu_mem_cb_t callback,
                  const void *user)
{
    qemu_plugin_register_vcpu_mem_cb(instruction, callback, QEMU_PLUGIN_CB_NO_REGS,
                                     QEMU_PLUGIN_MEM_RW, (void *)user);
}

static void alone(struct qemu_plugin_insn *instruction, enum access_kind kind)
{
    watch(instruction, kind == ACCESS_READ    ? on_alone_read
                       : kind == ACCESS_WRITE ? on_alone_write
                                              : on_alone, NULL);
}

static void group(struct qemu_plugin_insn *const *instructions, const struct group *group)
{
    watch(instructions[0], on_first, group);
    for (unsigned int i = 0; i < group->members; i++)
        watch(instructions[i + 1], on_member, group);
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    group_block(tb, &(struct block_listener){ .alone = alone, .group = group });
}

static void on_end(qemu_plugin_id_t id, void *user)
{
    (void)id, (void)user;
    fprintf(stderr, "%" PRIu64 " accesses, %" PRIu64 " groups, %" PRIu64 " foretold, %" PRIu64 " cut\n",
            accesses, groups, foretold, cut);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
                                           char **argv)
{
    (void)info, (void)argc, (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_atexit_cb(id, on_end, NULL);
    return 0;
}
