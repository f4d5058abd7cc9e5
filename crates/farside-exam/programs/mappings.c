// Every call that changes mappings or asks about blocks, checked against a plain model of what the
// memory must hold. argv[1] is a size in MiB.
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ul
#define NEED(what) \
    do { \
        if (!(what)) { \
            printf("line %d: %s failed: %s\n", __LINE__, #what, strerror(errno)); \
            exit(1); \
        } \
    } while (0)

static sigjmp_buf back;
static volatile int signals;

static void on_fault(int signal) {
    signals++;
    siglongjmp(back, signal);
}

static char *map(size_t bytes) {
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(p != MAP_FAILED);
    return p;
}

static void fill(char *p, size_t pages, uint64_t seed) {
    for (size_t i = 0; i < pages; i++) {
        ((uint64_t *)(p + i * PAGE))[0] = seed + i;
        ((uint64_t *)(p + i * PAGE))[511] = ~(seed + i);
    }
}

static void check(const char *p, size_t pages, uint64_t seed) {
    for (size_t i = 0; i < pages; i++) {
        NEED(((const uint64_t *)(p + i * PAGE))[0] == seed + i);
        NEED(((const uint64_t *)(p + i * PAGE))[511] == ~(seed + i));
    }
}

static void zero(const char *p, size_t pages) {
    for (size_t i = 0; i < pages * 512; i++) NEED(((const uint64_t *)p)[i] == 0);
}

static void remaps(size_t pages) {
    char *p = map(pages * PAGE);
    fill(p, pages, 1000);
    p = mremap(p, pages * PAGE, 2 * pages * PAGE, MREMAP_MAYMOVE);
    NEED(p != MAP_FAILED);
    check(p, pages, 1000);
    zero(p + pages * PAGE, pages);
    p = mremap(p, 2 * pages * PAGE, pages / 2 * PAGE, 0);
    NEED(p != MAP_FAILED);
    check(p, pages / 2, 1000);
    char *to = map(pages * PAGE);
    fill(to, pages, 5000);
    char *moved = mremap(p, pages / 2 * PAGE, pages / 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
    NEED(moved == to);
    check(to, pages / 2, 1000);
    check(to + pages / 2 * PAGE, pages - pages / 2, 5000 + pages / 2);
    NEED(munmap(to, pages * PAGE) == 0);
    puts("mremap");
}

static void protections(size_t pages) {
    char *p = map(pages * PAGE);
    fill(p, pages, 7);
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};
    NEED(sigaction(SIGSEGV, &action, NULL) == 0);
    NEED(mprotect(p + 8 * PAGE, 8 * PAGE, PROT_READ) == 0);
    check(p, pages, 7);
    if (sigsetjmp(back, 1) == 0) {
        p[9 * PAGE] = 1;
        puts("a write to read-only memory went through");
        exit(1);
    }
    NEED(mprotect(p + 8 * PAGE, 8 * PAGE, PROT_NONE) == 0);
    if (sigsetjmp(back, 1) == 0) {
        volatile char value = p[9 * PAGE];
        (void)value;
        puts("a read of forbidden memory went through");
        exit(1);
    }
    NEED(signals == 2);
    NEED(mprotect(p + 8 * PAGE, 8 * PAGE, PROT_READ | PROT_WRITE) == 0);
    check(p, pages, 7);
    fill(p, pages, 8);
    check(p, pages, 8);
    NEED(munmap(p + 4 * PAGE, 4 * PAGE) == 0);
    if (sigsetjmp(back, 1) == 0) {
        p[5 * PAGE] = 1;
        puts("unmapped memory could be written");
        exit(1);
    }
    check(p, 4, 8);
    NEED(munmap(p, pages * PAGE) == 0);
    signal(SIGSEGV, SIG_DFL);
    puts("mprotect");
}

static void fixed(size_t pages) {
    char *p = map(pages * PAGE);
    fill(p, pages, 70);
    char *hole = p + pages / 4 * PAGE;
    char *q = mmap(hole, pages / 4 * PAGE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    NEED(q == hole);
    zero(hole, pages / 4);
    check(p, pages / 4, 70);
    check(p + pages / 2 * PAGE, pages - pages / 2, 70 + pages / 2);
    // A file over the middle of it, and back.
    char name[] = "mappings-XXXXXX";
    int file = mkstemp(name);
    NEED(file >= 0 && unlink(name) == 0 && ftruncate(file, (off_t)PAGE) == 0);
    NEED(pwrite(file, "from a file", 12, 0) == 12);
    q = mmap(hole, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0);
    NEED(q == hole && strcmp(hole, "from a file") == 0);
    q = mmap(hole, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    NEED(q == hole);
    zero(hole, 1);
    close(file);
    q = mmap(p, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    NEED(q == MAP_FAILED && errno == EEXIST);
    NEED(munmap(p, pages * PAGE) == 0);
    // Reserve first, use later, as many runtimes do.
    char *reserved = mmap(NULL, 1ul << 36, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    NEED(reserved != MAP_FAILED);
    char *used = reserved + (1ul << 35);
    NEED(mprotect(used, pages * PAGE, PROT_READ | PROT_WRITE) == 0);
    fill(used, pages, 3);
    check(used, pages, 3);
    NEED(munmap(reserved, 1ul << 36) == 0);
    puts("MAP_FIXED");
}

static void advice(size_t pages) {
    char *p = map(pages * PAGE);
    fill(p, pages, 900);
    NEED(madvise(p, pages * PAGE, MADV_WILLNEED) == 0);
    NEED(madvise(p, pages * PAGE, MADV_SEQUENTIAL) == 0);
    NEED(madvise(p, pages / 2 * PAGE, MADV_DONTNEED) == 0);
    zero(p, pages / 2);
    check(p + pages / 2 * PAGE, pages - pages / 2, 900 + pages / 2);
    fill(p, pages, 901);
    NEED(madvise(p, pages * PAGE, MADV_FREE) == 0);
    fill(p, pages, 902);
    check(p, pages, 902);
    NEED(madvise(p, pages * PAGE, MADV_DONTNEED) == 0);
    zero(p, pages);
    errno = 0;
    NEED(madvise(p + 1, PAGE, MADV_DONTNEED) == -1 && errno == EINVAL);
    NEED(munmap(p, pages * PAGE) == 0);
    puts("madvise");
}

static void blocks(size_t count) {
    unsigned char **block = calloc(count, sizeof *block);
    NEED(block);
    uint64_t state = 88172645463325252ull;
    for (size_t turn = 0; turn < 8 * count; turn++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        size_t i = state % count, bytes = 1 + (state >> 32) % 9000;
        unsigned char mark = (unsigned char)i;
        if (block[i]) {
            size_t usable = malloc_usable_size(block[i]);
            NEED(usable > 0 && block[i][0] == mark && block[i][usable - 1] == mark);
        }
        switch (state >> 60) {
        case 0: free(block[i]); block[i] = NULL; continue;
        case 1: free(block[i]); block[i] = aligned_alloc(64, (bytes + 63) & ~63ul); break;
        case 2:
            free(block[i]);
            NEED(posix_memalign((void **)&block[i], 4096, bytes) == 0);
            NEED((uintptr_t)block[i] % 4096 == 0);
            break;
        case 3: free(block[i]); block[i] = memalign(256, bytes); break;
        case 4: block[i] = reallocarray(block[i], bytes, 2); break;
        case 5: free(block[i]); block[i] = calloc(bytes, 3);
            for (size_t k = 0; k < 3 * bytes; k++) NEED(block[i][k] == 0);
            break;
        case 6: free(block[i]); block[i] = valloc(bytes); break;
        case 7: free(block[i]); block[i] = pvalloc(bytes); break;
        default: block[i] = realloc(block[i], bytes);
        }
        NEED(block[i]);
        memset(block[i], mark, malloc_usable_size(block[i]));
    }
    for (size_t i = 0; i < count; i++) free(block[i]);
    free(block);
    NEED(malloc_usable_size(NULL) == 0);
    errno = 0;
    volatile size_t huge = SIZE_MAX / 2;
    NEED(malloc(huge) == NULL && errno == ENOMEM);
    errno = 0;
    NEED(reallocarray(NULL, huge, 8) == NULL && errno == ENOMEM);
    void *none = NULL;
    NEED(posix_memalign(&none, 3, 8) == EINVAL);
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    struct mallinfo2 info = mallinfo2();
    (void)info;
    malloc_trim(0);
    puts("blocks");
}

static void breaks(size_t pages) {
    char *start = sbrk((intptr_t)(pages * PAGE));
    NEED(start != (void *)-1);
    fill((char *)(((uintptr_t)start + PAGE - 1) & ~(PAGE - 1)), pages - 1, 44);
    check((char *)(((uintptr_t)start + PAGE - 1) & ~(PAGE - 1)), pages - 1, 44);
    NEED(brk(start) == 0);
    puts("brk");
}

// Rows that grow by realloc, as a reader of files has them: large blocks move.
static void growth(size_t mib) {
    size_t bytes = PAGE;
    char *p = malloc(bytes);
    NEED(p);
    fill(p, 1, 0);
    while (bytes < mib << 20) {
        p = realloc(p, 2 * bytes);
        NEED(p);
        size_t pages = bytes / PAGE;
        for (size_t i = pages; i < 2 * pages; i++) fill(p + i * PAGE, 1, i);
        bytes *= 2;
        for (size_t i = 0; i < bytes / PAGE; i++) check(p + i * PAGE, 1, i);
    }
    free(p);
    puts("realloc");
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    size_t mib = strtoul(argv[1], NULL, 10), pages = mib << 20 >> 12;
    // So that output is in order whatever the program dies of.
    setvbuf(stdout, NULL, _IOLBF, 0);
    remaps(pages);
    protections(pages);
    fixed(pages);
    advice(pages);
    growth(mib);
    blocks(4000);
    breaks(pages / 4);
    return 0;
}
