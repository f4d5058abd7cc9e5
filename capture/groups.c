/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "groups.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "stream.h"

enum { MOST_KEPT = 1 << 14, MOST_PROBES = 64 };

/* A group being made. */
struct grouping {
    const struct block_listener *listener;
    struct place place; /* of the first access */
    struct group group;
    struct qemu_plugin_insn *instructions[GROUP_MEMBERS + 1];
    enum access_kind kinds[GROUP_MEMBERS + 1];
    size_t count; /* of instructions */
};

/* The same group, kept for ever; NULL if there are too many. Equal ones are kept once: a program has
 * few kinds. */
static const struct group *keep(const struct group *group)
{
    static struct group *kept[MOST_KEPT];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < sizeof *group; i++)
        hash = (hash ^ ((const unsigned char *)group)[i]) * 1099511628211u;
    const struct group *found = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < MOST_PROBES && !found; i++) {
        struct group **place = &kept[(hash + i) % MOST_KEPT];
        if (!*place && (*place = malloc(sizeof *group)))
            memcpy(*place, group, sizeof *group);
        if (*place && !memcmp(*place, group, sizeof *group))
            found = *place;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* Tells of the group as it is, and begins none. */
static void finish(struct grouping *grouping)
{
    struct group *made = &grouping->group;
    made->slack = PAGE_BYTES - 1 - (made->highest - made->lowest);
    made->run |= made->wrote ? RUN_WROTE : 0;
    const struct group *group = grouping->count > 1 ? keep(made) : NULL;
    if (group)
        grouping->listener->group(grouping->instructions, group);
    else
        for (size_t i = 0; i < grouping->count; i++)
            grouping->listener->alone(grouping->instructions[i], grouping->kinds[i]);
    grouping->count = 0;
}

/* Begins a group with an instruction, if it can be followed by others. */
static bool begin(struct grouping *grouping, struct qemu_plugin_insn *instruction,
                  const struct effect *effect)
{
    if (effect->opaque || effect->kind == ACCESS_BOTH)
        return false;
    grouping->place = effect->place;
    grouping->instructions[0] = instruction;
    grouping->kinds[0] = effect->kind;
    grouping->count = 1;
    /* Padding too is compared. */
    memset(&grouping->group, 0, sizeof grouping->group);
    grouping->group.highest = effect->bytes - 1;
    grouping->group.run = 1 << RUN_WEIGHT_SHIFT;
    grouping->group.wrote = effect->kind == ACCESS_WRITE;
    return true;
}

/* Adds an instruction to the group, if its accesses are known from the first. */
static bool add(struct grouping *grouping, struct qemu_plugin_insn *instruction,
                const struct effect *effect)
{
    struct group *group = &grouping->group;
    if (grouping->count == 0 || effect->opaque || group->members == GROUP_MEMBERS ||
        !comparable(&grouping->place, &effect->place))
        return false;
    if (effect->kind & ACCESS_WRITE && !group->wrote)
        return false;
    int64_t delta = effect->place.displacement - grouping->place.displacement;
    if (delta > GROUP_REACH || delta < -GROUP_REACH)
        return false;
    struct member *member = &group->member[group->members++];
    member->delta = delta;
    member->bytes = effect->bytes;
    member->kind = effect->kind;
    group->run += (effect->kind == ACCESS_BOTH ? 2 : 1) << RUN_WEIGHT_SHIFT;
    if (delta < group->lowest)
        group->lowest = delta;
    if (delta + effect->bytes - 1 > group->highest)
        group->highest = delta + effect->bytes - 1;
    grouping->kinds[grouping->count] = effect->kind;
    grouping->instructions[grouping->count++] = instruction;
    return true;
}

void group_block(const struct qemu_plugin_tb *block, const struct block_listener *listener)
{
    struct tracker tracker;
    struct grouping grouping = { .listener = listener };
    tracker_begin(&tracker);
    size_t count = qemu_plugin_tb_n_insns(block);
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
        struct effect effect =
            tracker_step(&tracker, qemu_plugin_insn_data(instruction),
                         qemu_plugin_insn_size(instruction), qemu_plugin_insn_vaddr(instruction));
        bool accesses = effect.opaque || effect.kind != ACCESS_NONE;
        if (accesses && add(&grouping, instruction, &effect))
            continue;
        if (accesses)
            finish(&grouping);
        if (!accesses || !begin(&grouping, instruction, &effect))
            listener->alone(instruction, effect.opaque ? ACCESS_NONE : effect.kind);
    }
    finish(&grouping);
}
