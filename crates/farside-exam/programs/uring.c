// io_uring with fixed buffers, and O_DIRECT, on malloc'ed memory: the kernel pins pages that are at
// the same time candidates for eviction. argv[1] is the size in MiB. Exit code 77: no io_uring here.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define BLOCK 65536ul
#define NEED(what) \
    do { \
        if (!(what)) { \
            printf("line %d: %s failed: %s\n", __LINE__, #what, strerror(errno)); \
            exit(1); \
        } \
    } while (0)

static int ring;
static struct io_uring_params params;
static char *queue;
static struct io_uring_sqe *entries;
static char *completions;

static void set_up(void) {
    ring = (int)syscall(__NR_io_uring_setup, 8, &params);
    if (ring < 0) exit(77);
    size_t bytes = params.sq_off.array + params.sq_entries * sizeof(unsigned);
    size_t more = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
    queue = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    completions = mmap(NULL, more, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_CQ_RING);
    entries = mmap(NULL, params.sq_entries * sizeof *entries, PROT_READ | PROT_WRITE, MAP_SHARED,
                   ring, IORING_OFF_SQES);
    NEED(queue != MAP_FAILED && completions != MAP_FAILED && (void *)entries != MAP_FAILED);
}

static unsigned *at(char *base, unsigned offset) { return (unsigned *)(base + offset); }

static int transfer(int opcode, int file, char *buffer, size_t bytes, uint64_t offset) {
    unsigned tail = *at(queue, params.sq_off.tail), mask = *at(queue, params.sq_off.ring_mask);
    struct io_uring_sqe *entry = &entries[tail & mask];
    memset(entry, 0, sizeof *entry);
    entry->opcode = (unsigned char)opcode;
    entry->fd = file;
    entry->addr = (uintptr_t)buffer;
    entry->len = (unsigned)bytes;
    entry->off = offset;
    entry->buf_index = 0;
    at(queue, params.sq_off.array)[tail & mask] = tail & mask;
    __atomic_store_n(at(queue, params.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
    NEED(syscall(__NR_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1);
    unsigned head = *at(completions, params.cq_off.head);
    NEED(head != __atomic_load_n(at(completions, params.cq_off.tail), __ATOMIC_ACQUIRE));
    struct io_uring_cqe *done = (struct io_uring_cqe *)(completions + params.cq_off.cqes);
    int result = done[head & *at(completions, params.cq_off.ring_mask)].res;
    __atomic_store_n(at(completions, params.cq_off.head), head + 1, __ATOMIC_RELEASE);
    return result;
}

static uint64_t sum(const char *p, size_t bytes) {
    uint64_t sum = 0;
    for (size_t i = 0; i < bytes / 8; i++) sum = sum * 31 + ((const uint64_t *)p)[i];
    return sum;
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    size_t bytes = strtoul(argv[1], NULL, 10) << 20;
    set_up();
    // The fixed buffer, and as much again that pushes it out of local memory.
    char *fixed = NULL, *other = NULL;
    NEED(posix_memalign((void **)&other, 4096, bytes) == 0);
    NEED(posix_memalign((void **)&fixed, 4096, BLOCK * 8) == 0);
    memset(other, 1, bytes);
    for (size_t i = 0; i < BLOCK; i++) ((uint64_t *)fixed)[i] = i * 0x9e3779b97f4a7c15ull;
    struct iovec vector = {fixed, BLOCK * 8};
    if (syscall(__NR_io_uring_register, ring, IORING_REGISTER_BUFFERS, &vector, 1) != 0) return 77;

    int file = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600);
    NEED(file >= 0);
    uint64_t total = 0;
    for (size_t turn = 0; turn < 12; turn++) {
        for (size_t i = 0; i < bytes; i += 4096) ((uint64_t *)(other + i))[turn] = i + turn;
        char *half = fixed + (turn % 2) * BLOCK * 4;
        memset(half, (int)(turn + 1), BLOCK * 4);
        NEED(transfer(IORING_OP_WRITE_FIXED, file, half, BLOCK * 4, turn * BLOCK * 4) == BLOCK * 4);
        memset(half, 0, BLOCK * 4);
        NEED(transfer(IORING_OP_READ_FIXED, file, half, BLOCK * 4, turn * BLOCK * 4) == BLOCK * 4);
        for (size_t i = 0; i < BLOCK * 4; i++) NEED(half[i] == (char)(turn + 1));
        total = total * 31 + sum(fixed, BLOCK * 8);
    }
    for (size_t i = 0; i < bytes; i += 4096) total = total * 31 + ((uint64_t *)(other + i))[3];
    printf("fixed %lx\n", (unsigned long)total);
    close(file);

    // O_DIRECT from and into far memory, straight from the malloc'ed block.
    int direct = open("direct", O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0600);
    if (direct >= 0) {
        uint64_t before = sum(other, bytes);
        for (size_t i = 0; i < bytes; i += BLOCK) NEED(write(direct, other + i, BLOCK) == BLOCK);
        memset(other, 0, bytes);
        for (size_t i = 0; i < bytes; i += BLOCK)
            NEED(pread(direct, other + i, BLOCK, (off_t)i) == BLOCK);
        NEED(sum(other, bytes) == before);
        close(direct);
    }
    puts("direct");
    NEED(syscall(__NR_io_uring_register, ring, IORING_UNREGISTER_BUFFERS, NULL, 0) == 0);
    free(fixed);
    free(other);
    return 0;
}
