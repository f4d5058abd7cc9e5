/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "effects.h"

#include <string.h>

enum { RSP = 4, NO_REGISTER = 16, RIP_REGISTER = 17 };

/* An instruction being read. */
struct code {
    const uint8_t *at, *end;
    bool short_of; /* read past the end */
    bool operand16, wide, rex;
    uint8_t rex_r, rex_x, rex_b;
    uint8_t mod, reg, rm; /* of the ModRM byte */
    uint8_t base, index, scale;
    int64_t displacement;
};

void tracker_begin(struct tracker *tracker)
{
    memset(tracker, 0, sizeof *tracker);
    for (int i = 0; i < 16; i++)
        tracker->version[i] = ++tracker->last_version;
}

static void changed(struct tracker *tracker, unsigned int reg)
{
    tracker->version[reg & 15] = ++tracker->last_version;
    tracker->offset[reg & 15] = 0;
}

static void all_changed(struct tracker *tracker)
{
    for (int i = 0; i < 16; i++)
        changed(tracker, i);
}

static uint8_t byte(struct code *code)
{
    if (code->at >= code->end) {
        code->short_of = true;
        return 0;
    }
    return *code->at++;
}

static int64_t immediate(struct code *code, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)byte(code) << (8 * i);
    int unused = 64 - 8 * bytes;
    return bytes ? (int64_t)(value << unused) >> unused : 0;
}

static void modrm(struct code *code)
{
    uint8_t modrm = byte(code);
    code->mod = modrm >> 6;
    code->reg = (modrm >> 3 & 7) | code->rex_r;
    code->rm = (modrm & 7) | code->rex_b;
    code->base = code->index = NO_REGISTER;
    if (code->mod == 3)
        return;
    code->base = code->rm;
    if ((modrm & 7) == 4) {
        uint8_t sib = byte(code);
        code->scale = sib >> 6;
        uint8_t index = (sib >> 3 & 7) | code->rex_x;
        code->index = index == RSP ? NO_REGISTER : index;
        code->base = (sib & 7) | code->rex_b;
        if ((sib & 7) == 5 && code->mod == 0) {
            code->base = NO_REGISTER;
            code->displacement = immediate(code, 4);
        }
    } else if ((modrm & 7) == 5 && code->mod == 0) {
        code->base = RIP_REGISTER;
        code->displacement = immediate(code, 4);
    }
    if (code->mod == 1)
        code->displacement = immediate(code, 1);
    else if (code->mod == 2)
        code->displacement = immediate(code, 4);
}

/* Where the ModRM operand is; `next` is the address of the next instruction. */
static struct place place_of(const struct tracker *tracker, const struct code *code, uint64_t next)
{
    struct place place = { .base = code->base, .index = code->index,
                           .displacement = code->displacement };
    if (code->base == RIP_REGISTER) {
        place.base = NO_REGISTER;
        place.displacement += next;
    } else if (code->base != NO_REGISTER) {
        place.base_version = tracker->version[code->base];
        place.displacement += tracker->offset[code->base];
    }
    if (code->index != NO_REGISTER) {
        place.scale = code->scale;
        place.index_version = tracker->version[code->index];
        place.displacement += (int64_t)tracker->offset[code->index] << code->scale;
    }
    return place;
}

static struct effect opaque(struct tracker *tracker)
{
    all_changed(tracker);
    return (struct effect){ .opaque = true };
}

/* A push of eight bytes, or a pop. */
static struct effect stack(struct tracker *tracker, bool push)
{
    if (push)
        tracker->offset[RSP] -= 8;
    struct effect effect = {
        .kind = push ? ACCESS_WRITE : ACCESS_READ,
        .bytes = 8,
        .place = { .base = RSP, .index = NO_REGISTER,
                   .base_version = tracker->version[RSP], .displacement = tracker->offset[RSP] },
    };
    if (!push)
        tracker->offset[RSP] += 8;
    return effect;
}

/* What becomes of the ModRM operand, which is memory or a register. */
static struct effect operand(struct tracker *tracker, const struct code *code, uint64_t next,
                             uint8_t kind, uint8_t bytes)
{
    struct effect effect = { 0 };
    if (code->mod != 3) {
        effect.kind = kind;
        effect.bytes = bytes;
        effect.place = place_of(tracker, code, next);
    } else if (kind & ACCESS_WRITE) {
        changed(tracker, code->rm);
        /* Without a prefix 4 to 7 are the second bytes of 0 to 3. */
        if (bytes == 1)
            changed(tracker, code->rm & 3);
    }
    return effect;
}

/* As operand, which is read into the register that ModRM names. */
static struct effect into_register(struct tracker *tracker, const struct code *code, uint64_t next,
                                   uint8_t bytes)
{
    struct effect effect = operand(tracker, code, next, ACCESS_READ, bytes);
    changed(tracker, code->reg);
    changed(tracker, code->reg & 3);
    return effect;
}

static int operand_bytes(const struct code *code)
{
    return code->wide ? 8 : code->operand16 ? 2 : 4;
}

/* A constant operand, which has at most four bytes. */
static int64_t constant(struct code *code, int bytes)
{
    return immediate(code, bytes == 8 ? 4 : bytes);
}

/* The arithmetic group with a constant: 80, 81, 83. */
static struct effect with_constant(struct tracker *tracker, struct code *code, uint64_t start,
                                   size_t length, uint8_t opcode)
{
    modrm(code);
    int bytes = opcode == 0x80 ? 1 : operand_bytes(code);
    int64_t summand = constant(code, opcode == 0x81 ? bytes : 1);
    unsigned int operation = code->reg & 7;
    if (code->mod == 3 && bytes == 8 && (operation == 0 || operation == 5) &&
        summand > -(1 << 24) && summand < 1 << 24) {
        tracker->offset[code->rm] += operation == 0 ? summand : -summand;
        if (tracker->offset[code->rm] > 1 << 28 || tracker->offset[code->rm] < -(1 << 28))
            changed(tracker, code->rm);
        return (struct effect){ 0 };
    }
    return operand(tracker, code, start + length, operation == 7 ? ACCESS_READ : ACCESS_BOTH,
                   bytes);
}

static struct effect two_byte(struct tracker *tracker, struct code *code, uint64_t next)
{
    uint8_t opcode = byte(code);
    switch (opcode) {
    case 0x18: case 0x1e: case 0x1f: /* hints, and one that may read into a register */
        modrm(code);
        if (code->mod == 3)
            changed(tracker, code->rm);
        return (struct effect){ 0 };
    case 0x40 ... 0x4f: case 0xaf: /* cmov, imul */
        modrm(code);
        return into_register(tracker, code, next, operand_bytes(code));
    case 0x80 ... 0x8f: /* jcc */
        immediate(code, 4);
        return (struct effect){ 0 };
    case 0x90 ... 0x9f: /* setcc */
        modrm(code);
        return operand(tracker, code, next, ACCESS_WRITE, 1);
    case 0xb6: case 0xbe: /* movzx, movsx */
        modrm(code);
        return into_register(tracker, code, next, 1);
    case 0xb7: case 0xbf:
        modrm(code);
        return into_register(tracker, code, next, 2);
    /* Moves and arithmetic of vectors: as many accesses as the emulator makes of them. */
    case 0x10 ... 0x17: case 0x28: case 0x29: case 0x2e: case 0x2f: case 0x51 ... 0x6f:
    case 0x74 ... 0x76: case 0x7f: case 0xd4: case 0xd6: case 0xda: case 0xdb: case 0xde:
    case 0xdf: case 0xeb: case 0xef: case 0xf8 ... 0xfe:
        modrm(code);
        return (struct effect){ .opaque = code->mod != 3 };
    default:
        return opaque(tracker);
    }
}

static struct effect one_byte(struct tracker *tracker, struct code *code, uint64_t start,
                              size_t length, uint8_t opcode)
{
    uint64_t next = start + length;
    int bytes = opcode & 1 ? operand_bytes(code) : 1;
    switch (opcode) {
    case 0x00 ... 0x3f: {
        bool compares = opcode >= 0x38;
        switch (opcode & 7) {
        case 0: case 1:
            modrm(code);
            return operand(tracker, code, next, compares ? ACCESS_READ : ACCESS_BOTH, bytes);
        case 2: case 3: {
            modrm(code);
            struct effect effect = operand(tracker, code, next, ACCESS_READ, bytes);
            if (!compares)
                changed(tracker, code->reg), changed(tracker, code->reg & 3);
            return effect;
        }
        case 4: case 5:
            constant(code, bytes);
            changed(tracker, 0);
            return (struct effect){ 0 };
        }
        return opaque(tracker);
    }
    case 0x50 ... 0x57:
        return code->operand16 ? opaque(tracker) : stack(tracker, true);
    case 0x58 ... 0x5f: {
        if (code->operand16)
            return opaque(tracker);
        struct effect effect = stack(tracker, false);
        changed(tracker, (opcode & 7) | code->rex_b);
        return effect;
    }
    case 0x63:
        modrm(code);
        return into_register(tracker, code, next, 4);
    case 0x68: case 0x6a: case 0xe8:
        immediate(code, opcode == 0x6a ? 1 : 4);
        return code->operand16 ? opaque(tracker) : stack(tracker, true);
    case 0x69: case 0x6b:
        modrm(code);
        constant(code, opcode == 0x6b ? 1 : operand_bytes(code));
        return into_register(tracker, code, next, operand_bytes(code));
    case 0x90:
        return code->rex ? opaque(tracker) : (struct effect){ 0 };
    case 0xa8: case 0xa9:
        constant(code, bytes);
        return (struct effect){ 0 };
    case 0x70 ... 0x7f: case 0xe9: case 0xeb:
        immediate(code, opcode == 0xe9 ? 4 : 1);
        return (struct effect){ 0 };
    case 0x80: case 0x81: case 0x83:
        return with_constant(tracker, code, start, length, opcode);
    case 0x84: case 0x85:
        modrm(code);
        return operand(tracker, code, next, ACCESS_READ, bytes);
    case 0x88: case 0x89:
        modrm(code);
        return operand(tracker, code, next, ACCESS_WRITE, bytes);
    case 0x8a: case 0x8b:
        modrm(code);
        return into_register(tracker, code, next, bytes);
    case 0x8d:
        modrm(code);
        changed(tracker, code->reg);
        return (struct effect){ .opaque = code->mod == 3 };
    case 0x98: case 0x99:
        changed(tracker, 0);
        changed(tracker, 2);
        return (struct effect){ 0 };
    case 0xb0 ... 0xbf:
        immediate(code, opcode < 0xb8 ? 1 : operand_bytes(code));
        changed(tracker, (opcode & 7) | code->rex_b);
        changed(tracker, opcode & 3);
        return (struct effect){ 0 };
    case 0xc0: case 0xc1: case 0xd0 ... 0xd3:
        modrm(code);
        immediate(code, opcode < 0xd0 ? 1 : 0);
        return operand(tracker, code, next, ACCESS_BOTH, bytes);
    case 0xc3:
        return stack(tracker, false);
    case 0xc6: case 0xc7:
        modrm(code);
        constant(code, bytes);
        return code->reg & 7 ? opaque(tracker)
                             : operand(tracker, code, next, ACCESS_WRITE, bytes);
    case 0xf6: case 0xf7: {
        modrm(code);
        unsigned int operation = code->reg & 7;
        bool both = operation == 2 || operation == 3;
        if (operation < 2)
            constant(code, bytes);
        struct effect effect =
            operand(tracker, code, next, both ? ACCESS_BOTH : ACCESS_READ, bytes);
        if (operation >= 4)
            changed(tracker, 0), changed(tracker, 2);
        return effect;
    }
    case 0xfe: case 0xff:
        modrm(code);
        return (code->reg & 7) > 1 ? opaque(tracker)
                                   : operand(tracker, code, next, ACCESS_BOTH, bytes);
    default:
        return opaque(tracker);
    }
}

struct effect tracker_step(struct tracker *tracker, const uint8_t *bytes, size_t length,
                           uint64_t address)
{
    struct code code = { .at = bytes, .end = bytes + length };
    uint8_t first = byte(&code);
    bool repeats = false;
    for (; first == 0x66 || first == 0xf2 || first == 0xf3; first = byte(&code)) {
        code.operand16 |= first == 0x66;
        repeats |= first != 0x66;
    }
    if ((first & 0xf0) == 0x40) {
        code.rex = true;
        code.wide = first & 8;
        code.rex_r = (first & 4) << 1;
        code.rex_x = (first & 2) << 2;
        code.rex_b = (first & 1) << 3;
        first = byte(&code);
    }
    struct effect effect;
    if (first == 0x0f)
        effect = two_byte(tracker, &code, address + length);
    else if (repeats && first != 0xc3 && first != 0x90)
        effect = opaque(tracker);
    else
        effect = one_byte(tracker, &code, address, length, first);
    /* Of an instruction that goes on in the next page of code the emulator has the beginning only, and
     * leaves it to the next block. */
    if (code.short_of || code.at != code.end)
        return opaque(tracker);
    return effect;
}

bool comparable(const struct place *a, const struct place *b)
{
    return a->base == b->base && a->base_version == b->base_version && a->index == b->index &&
           a->index_version == b->index_version && a->scale == b->scale;
}
