/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups: data accesses in a block of code of which it is known, before the code runs, how far from
 * each other they are. Those that follow the first one need not be told of: they are known from it.
 *
 * The instructions of a group follow each other with no other access between them, use the same
 * registers for their addresses, and cannot fault in a page where the first did not: they write only
 * if it does.
 */
#ifndef PAGETRACE_GROUPS_H
#define PAGETRACE_GROUPS_H

#include <stdint.h>

#include "effects.h"
#include "qemu_plugin.h"

enum {
    GROUP_MEMBERS = 15, /* most instructions after the first */
    GROUP_REACH = 1024, /* of their addresses around that of the first */
};

/* An instruction after the first. */
struct member {
    int16_t delta; /* from the first one's address */
    uint8_t bytes;
    uint8_t kind; /* enum access_kind */
};

struct group {
    int16_t lowest;  /* byte of all accesses, from the first one's address */
    int16_t highest;
    uint16_t slack;  /* how far within a page the lowest may be for all to be in it */
    uint16_t run;    /* all of them, as lanes count the accesses of a run */
    uint8_t members;
    bool wrote;      /* whether any of them writes */
    struct member member[GROUP_MEMBERS];
};

/* What the accesses of a block are told to. */
struct block_listener {
    /* An instruction whose accesses, if it makes any, are in no group. They are of this kind, unless it
     * is ACCESS_NONE: then of any. */
    void (*alone)(struct qemu_plugin_insn *instruction, enum access_kind kind);
    /* A group, and its instructions: the first and all members. The group is kept for ever. */
    void (*group)(struct qemu_plugin_insn *const *instructions, const struct group *group);
};

/* Tells of the instructions of a block. */
void group_block(const struct qemu_plugin_tb *block, const struct block_listener *listener);

#endif
