/* Writes code of many forms of instructions at random, from a seed, and runs it: for what is said of
 * instructions to be held against what they do. Every register is used as a base, as an index and as
 * an operand; all memory that is accessed lies in one array. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BLOCKS = 4000, LENGTH = 24, BYTES = 1 << 20, SPREAD = 8192 };
enum { RSP = 4 };

static uint8_t memory[32 * SPREAD];
static uint64_t saved;
static uint8_t *at;
static uint64_t state;
static int usable[16]; /* registers that point into the array */
static int small = -1; /* a register with a small number, to be an index; -1 if there is none */

static unsigned int pick(unsigned int below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

static void emit(int count, uint64_t value)
{
    memcpy(at, &value, count);
    at += count;
}

/* A register to be a base; often the one that was it last. */
static int base(void)
{
    static int last;
    int reg = pick(2) ? last : (int)pick(16);
    while (!usable[reg])
        reg = (reg + 1) % 16;
    last = reg;
    return reg;
}

static void forget(int reg)
{
    usable[reg] = 0;
    if (small == reg)
        small = -1;
}

/* What is not a base any more; rsp always is. */
static int clobber(void)
{
    int reg = pick(16);
    if (reg == RSP)
        reg = 3;
    forget(reg);
    return reg;
}

/* An instruction with a memory operand; the constant has so many bytes. */
static void memory_operand(const char *opcode, int wide, int reg, int constant)
{
    int b = base(), sib = pick(3) == 0 || (b & 7) == 4, size = pick(2) ? 1 : 4;
    int index = sib && small >= 0 && pick(2) ? small : RSP; /* which stands for none */
    size_t length = strlen(opcode);
    if (*opcode == 0x66 || (uint8_t)*opcode == 0xf3)
        emit(1, *opcode++), length--;
    int rex = 0x40 | wide << 3 | (reg >> 3) << 2 | (index >> 3) << 1 | b >> 3;
    if (rex != 0x40 || pick(2) || (reg >= 4 && reg < 8))
        emit(1, rex);
    memcpy(at, opcode, length);
    at += length;
    emit(1, (size == 1 ? 0x40 : 0x80) | (reg & 7) << 3 | (sib ? 4 : b & 7));
    if (sib)
        emit(1, (pick(2) ? 3 : pick(4)) << 6 | (index & 7) << 3 | (b & 7));
    emit(size, size == 1 ? pick(256) : pick(1024) - 512u);
    emit(constant, pick(1 << 24));
}

static void into_register(const char *opcode, int constant)
{
    int wide = pick(2), reg = pick(16);
    if (reg == RSP)
        reg = 0;
    memory_operand(opcode, wide, reg, constant);
    forget(reg);
}

static void from_register(const char *opcode, int constant)
{
    memory_operand(opcode, pick(2), pick(16), constant);
}

static void instruction(void)
{
    static const char *const loads[] = { "\x8b", "\x03", "\x2b", "\x33", "\x0f\xb6", "\x0f\xb7",
                                         "\x0f\xbe", "\x0f\xbf", "\x0f\xaf", "\x63", "\x0f\x44",
                                         "\x0f\x4c", "\x23", "\x0b", "\x8d", "\x8a" };
    static const char *const stores[] = { "\x89", "\x88", "\x01", "\x29", "\x31", "\x39", "\x3b",
                                          "\x85", "\x84", "\x09", "\x21", "\x38", "\x3a" };
    static const char *const vectors[] = { "\x0f\x10", "\x0f\x11", "\xf3\x0f\x6f", "\x66\x0f\xd6" };
    int reg;
    switch (pick(18)) {
    case 0: case 1: case 2:
        into_register(loads[pick(16)], 0);
        break;
    case 3: case 4: case 5: case 6:
        from_register(stores[pick(13)], 0);
        break;
    case 7: /* mov constant */
        memory_operand("\xc7", pick(2), 0, 4);
        break;
    case 8:
        memory_operand("\xc6", 0, 0, 1);
        break;
    case 9: /* arithmetic with a constant */
        memory_operand(pick(2) ? "\x83" : "\x80", pick(2), pick(8), 1);
        break;
    case 10:
        if (pick(2))
            memory_operand("\x81", pick(2), pick(8), 4);
        else
            pick(2) ? into_register("\x69", 4) : into_register("\x6b", 1);
        break;
    case 11: /* shifts, not, neg, test, inc, dec, setcc */
        switch (pick(6)) {
        case 0: memory_operand("\xc1", pick(2), 4, 1); break;
        case 1: memory_operand("\xd1", pick(2), 5, 0); break;
        case 2: memory_operand("\xf7", pick(2), 2 + pick(2), 0); break;
        case 3: memory_operand("\xf6", 0, 0, 1); break;
        case 4: memory_operand("\xff", pick(2), pick(2), 0); break;
        case 5: memory_operand("\x0f\x95", 0, 0, 0); break;
        }
        break;
    case 12: case 13: /* push */
        reg = pick(16);
        if (pick(4) == 0)
            emit(1, 0x6a), emit(1, pick(256));
        else if (reg >= 8)
            emit(1, 0x41), emit(1, 0x50 | (reg & 7));
        else
            emit(1, 0x50 | reg);
        break;
    case 14: /* pop, sometimes of what can be a base */
        reg = base();
        if (pick(2)) {
            if (reg >= 8)
                emit(1, 0x41);
            emit(1, 0x50 | (reg & 7));
            reg = clobber();
            usable[reg] = 1;
        } else {
            reg = clobber();
        }
        if (reg >= 8)
            emit(1, 0x41);
        emit(1, 0x58 | (reg & 7));
        break;
    case 15: /* a base that moves, rsp too, or the index */
        reg = small >= 0 && pick(2) ? small : base();
        emit(1, 0x48 | reg >> 3);
        emit(1, 0x83);
        emit(1, 0xc0 | (pick(2) ? 0 : 5) << 3 | (reg & 7));
        emit(1, pick(64));
        break;
    case 16: /* vectors; moves of constants; multiplication */
        switch (pick(3)) {
        case 0: memory_operand(vectors[pick(4)], 0, pick(16), 0); break;
        case 1:
            reg = clobber();
            emit(1, 0x48 | reg >> 3);
            emit(1, 0xb8 | (reg & 7));
            emit(8, (uintptr_t)(memory + pick(16) * SPREAD + 8 * SPREAD));
            usable[reg] = 1;
            break;
        case 2:
            memory_operand("\xf7", pick(2), 4 + pick(2), 0);
            forget(0);
            forget(2);
            break;
        }
        break;
    case 17: /* not understood: xchg and xadd lock the bus, bsf is rare */
        switch (pick(4)) {
        case 3: { /* two bases change places */
            int other = base();
            reg = base();
            emit(1, 0x48 | (reg >> 3) << 2 | other >> 3);
            emit(1, 0x87);
            emit(1, 0xc0 | (reg & 7) << 3 | (other & 7));
            break;
        }
        case 0: into_register("\x87", 0); break;
        case 1: into_register("\x0f\xc1", 0); break;
        case 2: into_register("\x0f\xbc", 0); break;
        }
        break;
    }
}

static void block(void)
{
    static const uint8_t begin[] = { 0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57 };
    static const uint8_t end[] = { 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3 };
    memcpy(at, begin, sizeof begin);
    at += sizeof begin;
    emit(2, 0xb848), emit(8, (uintptr_t)&saved); /* mov $saved, %rax */
    emit(3, 0x208948);                           /* mov %rsp, (%rax) */
    for (int reg = 0; reg < 16; reg++) {
        emit(1, 0x48 | reg >> 3);
        emit(1, 0xb8 | (reg & 7));
        emit(8, (uintptr_t)(memory + (2 * reg + 1) * SPREAD + pick(SPREAD / 2)));
        usable[reg] = 1;
    }
    small = pick(2) ? clobber() : -1;
    if (small >= 0) {
        int reg = small;
        emit(1, 0x48 | reg >> 3);
        emit(1, 0xb8 | (reg & 7));
        emit(8, pick(64));
    }
    for (int i = 0; i < LENGTH; i++)
        instruction();
    emit(2, 0xb848), emit(8, (uintptr_t)&saved);
    emit(3, 0x208b48); /* mov (%rax), %rsp */
    memcpy(at, end, sizeof end);
    at += sizeof end;
}

int main(int argc, char **argv)
{
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint8_t *code = mmap(NULL, BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    for (int i = 0; i < BLOCKS; i++) {
        /* Another place each time, so that blocks meet the ends of pages of code everywhere. */
        at = code + pick(BYTES - 4096);
        uint8_t *start = at;
        block();
        void (*run)(void);
        memcpy(&run, &start, sizeof run);
        run();
    }
    return 0;
}
