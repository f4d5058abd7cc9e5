/* Lines that loops hold, go through, and send for. What is plain memory is seen without a call. */
#ifndef FARSIDE_RUNTIME_SECTIONS_LINES_H
#define FARSIDE_RUNTIME_SECTIONS_LINES_H

#include "plain.h"

CALL uint64_t farside_rt_turns_in_line(const struct farside_section *section, const void *pointer, size_t size,
                                       int64_t stride) {
    const uint64_t line = (uint64_t)1 << section->shift, at = number(pointer) & (line - 1);
    if (stride == 0 && at + size <= line) return ~(uint64_t)0 >> 1;
    if (at + size > line) return 0;
    if (stride > 0) return (line - size - at) / (uint64_t)stride + 1;
    return at / (0 - (uint64_t)stride) + 1;
}

/*
 * How many turns of a loop a line lasts, of which each uses `size` bytes, and which is `stride` bytes on with each; 0 if
 * already the first ones lie across its end.
 */
PART uint64_t farside_rt_turns(const struct farside_section *section, const void *pointer, size_t size,
                               int64_t stride) {
    return is_plain(pointer) ? ~(uint64_t)0 >> 1 : farside_rt_turns_in_line(section, pointer, size, stride);
}

/* As farside_pin_line(). Of a section that only one thread uses nothing changes but by its own calls. */
static void *pin_line(const struct farside_section *section, uint64_t pointer) {
    const int64_t slot = section->shared ? -1 : farside_slot_(section, farside_line_(section, pointer));
    const uint16_t state = slot < 0 ? 0 : section->states[slot];
    if (__builtin_expect((state & FARSIDE_STATE_) != FARSIDE_READY_ || state >= FARSIDE_MOST_PINS_ * FARSIDE_PIN_, 0))
        return farside_pin_line(section, pointer);
    section->states[slot] = state + FARSIDE_PIN_;
    return farside_in_slot_(section, slot, pointer);
}

CALL void *farside_rt_hold_line(const struct farside_section *section, void *pointer, size_t size, int64_t stride,
                                uint64_t turns, int written) {
    unsigned char *address;
    PROFILE_HELD(pointer, size, stride, turns, written, section->shift);
    address = (unsigned char *)pin_line(section, number(pointer));
    if (address && written) {
        const int64_t way = stride * (int64_t)(turns - 1);
        farside_note_written(section, way < 0 ? address + way : address, size + (uint64_t)(way < 0 ? -way : way));
    }
    return address;
}

/*
 * Keeps the line of the first turn, for so many turns, which are no more than it lasts; null if it cannot be kept. The
 * result is the address of what the first turn uses.
 */
PART void *farside_rt_hold(const struct farside_section *section, void *pointer, size_t size, int64_t stride,
                           uint64_t turns, int written) {
    if (!turns) return 0;
    return is_plain(pointer) ? pointer : farside_rt_hold_line(section, pointer, size, stride, turns, written);
}

CALL void farside_rt_let_go_line(const struct farside_section *section, const void *address) {
    const uint64_t slot = farside_slot_at_(section, address);
    if (slot >= section->slots) return;
    if (section->shared)
        farside_unpin_line(section, address);
    else
        section->states[slot] -= FARSIDE_PIN_;
}

/* Nothing is let go of null. */
PART void farside_rt_let_go(const struct farside_section *section, const void *address) {
    if (address) farside_rt_let_go_line(section, address);
}

CALL void farside_rt_done_with_line(const struct farside_section *section, const void *pointer, int64_t stride,
                                    uint64_t turns, uint64_t all) {
    const uint64_t at = number(pointer), next = at + (uint64_t)stride * turns, line = (uint64_t)1 << section->shift;
    const uint64_t lines = (all * (uint64_t)(stride < 0 ? -stride : stride)) >> section->shift;
    if ((at ^ next) & ~(line - 1) && lines > (uint64_t)section->sets * section->ways)
        farside_section_do_(at, 1, FARSIDE_DO_DONE_);
}

/*
 * A loop has gone on from `pointer` by `turns` turns, of `all` that it makes. Of the line that it has left others take the
 * place first, if all of them are more than the section has room for: else it is still here when it is used again.
 */
PART void farside_rt_done(const struct farside_section *section, const void *pointer, int64_t stride, uint64_t turns,
                          uint64_t all) {
    if (!is_plain(pointer)) farside_rt_done_with_line(section, pointer, stride, turns, all);
}

CALL void farside_rt_send_ahead(const struct farside_section *section, const void *pointer, size_t size, int64_t stride,
                                uint64_t turns, uint64_t lines, int start) {
    const uint64_t line = (uint64_t)1 << section->shift, mask = ~(line - 1), first = number(pointer);
    uint64_t last, from, to;
    if (!turns) return;
    if (!start && !(((first - (uint64_t)stride) ^ first) & mask)) return;
    last = first + (uint64_t)stride * (turns - 1);
    if (stride > 0) {
        last += size - 1;
        from = start ? (first & mask) + line : (first & mask) + lines * line;
        to = (first & mask) + lines * line;
        if (to > (last & mask)) to = last & mask;
    } else {
        to = start ? (first & mask) - line : (first & mask) - lines * line;
        from = (first & mask) - lines * line;
        if (from < (last & mask) || from > first) from = last & mask;
    }
    if (from > to || from >> FARSIDE_ID_SHIFT_ != first >> FARSIDE_ID_SHIFT_) return;
    /* To ask takes as long as many turns. What is here needs not be sent for. */
    for (; from <= to; from += line)
        if (farside_slot_(section, farside_line_(section, from)) < 0) {
            farside_fetch(from, to - from + line);
            return;
        }
}

/*
 * Sends for what a loop comes to: it is at `pointer`, and has `turns` turns to go. At its start so many lines are sent
 * for, and then one with each that it comes to. It may go on in a line where it was before.
 */
PART void farside_rt_ahead(const struct farside_section *section, const void *pointer, size_t size, int64_t stride,
                           uint64_t turns, uint64_t lines, int start) {
    if (!is_plain(pointer)) farside_rt_send_ahead(section, pointer, size, stride, turns, lines, start);
}

#endif
