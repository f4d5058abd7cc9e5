/* The laws of mmap and munmap. */
#include "check.h"
#include <fcntl.h>
#include <sys/mman.h>

enum { PAGE = 4096, RW = PROT_READ | PROT_WRITE, ANON = MAP_PRIVATE | MAP_ANONYMOUS };

static char *map(size_t n, int prot)
{
    char *p = mmap(NULL, n, prot, ANON, -1, 0);
    CHECK(p != MAP_FAILED && far_if_any(p) && far_if_any(p + n - 1) && (uintptr_t)p % PAGE == 0);
    return p;
}

static bool is_mapped(void *page)
{
    unsigned char resident;
    /* Tells mapped from unmapped without a fault; the region itself always exists in a far run. */
    return madvise(page, PAGE, MADV_NORMAL) == 0 || (errno != ENOMEM && !mincore(page, PAGE, &resident));
}

static void errors(void)
{
    CHECK(mmap(NULL, 0, RW, ANON, -1, 0) == MAP_FAILED && errno == EINVAL);
    CHECK(mmap(NULL, SIZE_MAX - 100, RW, ANON, -1, 0) == MAP_FAILED && errno == ENOMEM);
    CHECK(mmap(NULL, (size_t)1 << 60, RW, ANON, -1, 0) == MAP_FAILED && errno == ENOMEM);
    CHECK(mmap(NULL, PAGE, RW, MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
    CHECK(mmap(NULL, PAGE, RW, MAP_PRIVATE, -1, 0) == MAP_FAILED && errno == EBADF);
    char *p = map(2 * PAGE, RW);
    CHECK(mmap(p + 1, PAGE, RW, ANON | MAP_FIXED, -1, 0) == MAP_FAILED && errno == EINVAL);
    CHECK(munmap(p + 1, PAGE) == -1 && errno == EINVAL);
    CHECK(munmap(p, 0) == -1 && errno == EINVAL);
    CHECK(munmap(p, SIZE_MAX - PAGE) == -1 && errno == EINVAL);
    CHECK(munmap(p, 2 * PAGE) == 0 && munmap(p, 2 * PAGE) == 0);
}

static void zero_and_content(void)
{
    for (int i = 0; i < 50; i++) {
        size_t n = (size_t)(i * 37 % 50 + 1) * PAGE - (i % 2 ? 100 : 0);
        char *p = map(n, RW);
        CHECK(all_bytes(p, 0, n));
        memset(p, i + 1, n);
        CHECK(munmap(p, n) == 0);
    }
}

static void parts(void)
{
    char *p = map(10 * PAGE, RW);
    for (int i = 0; i < 10; i++)
        p[i * PAGE] = (char)(i + 1);
    CHECK(munmap(p, PAGE) == 0 && munmap(p + 9 * PAGE, PAGE) == 0 && munmap(p + 4 * PAGE, 2 * PAGE) == 0);
    CHECK(!is_mapped(p) && !is_mapped(p + 9 * PAGE) && !is_mapped(p + 4 * PAGE) && is_mapped(p + PAGE));
    for (int i = 1; i < 9; i++)
        CHECK(i == 4 || i == 5 || p[i * PAGE] == i + 1);
    /* The hole is filled again at its place, by a fixed mapping. */
    CHECK(mmap(p + 4 * PAGE, 2 * PAGE, RW, ANON | MAP_FIXED, -1, 0) == p + 4 * PAGE);
    CHECK(all_bytes(p + 4 * PAGE, 0, 2 * PAGE));
    CHECK(p[3 * PAGE] == 4 && p[6 * PAGE] == 7);
    CHECK(munmap(p, 10 * PAGE) == 0);
    CHECK(!is_mapped(p + PAGE) && !is_mapped(p + 8 * PAGE));
    /* Address space comes back. */
    for (int i = 0; i < 3000; i++) {
        char *q = mmap(NULL, (size_t)1 << 30, PROT_NONE, ANON | MAP_NORESERVE, -1, 0);
        CHECK(q != MAP_FAILED && munmap(q, (size_t)1 << 30) == 0);
    }
}

static void fixed(void)
{
    char *p = map(8 * PAGE, RW);
    memset(p, 1, 8 * PAGE);
    CHECK(mmap(p + 2 * PAGE, 2 * PAGE, RW, ANON | MAP_FIXED, -1, 0) == p + 2 * PAGE);
    CHECK(all_bytes(p, 1, 2 * PAGE) && all_bytes(p + 2 * PAGE, 0, 2 * PAGE) && all_bytes(p + 4 * PAGE, 1, 4 * PAGE));
    CHECK(mmap(p, PAGE, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED && errno == EEXIST);
    CHECK(munmap(p, 4 * PAGE) == 0);
    CHECK(mmap(p, 4 * PAGE, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0) == p && all_bytes(p, 0, 4 * PAGE));
    /* A hint is only a hint: what is there stays. */
    char *q = mmap(p, PAGE, RW, ANON, -1, 0);
    CHECK(q != MAP_FAILED && q != p);
    CHECK(munmap(q, PAGE) == 0 && munmap(p, 8 * PAGE) == 0);
    /* Reserve, then commit inside, as virtual machines do. */
    p = map(64u << 20, PROT_NONE);
    for (int i = 0; i < 64; i += 2) {
        char *at = p + ((size_t)i << 20);
        CHECK(mmap(at, 1 << 20, RW, ANON | MAP_FIXED | MAP_NORESERVE, -1, 0) == at);
        memset(at, i, 1 << 20);
    }
    for (int i = 0; i < 64; i += 2)
        CHECK(all_bytes(p + ((size_t)i << 20), i, 1 << 20));
    CHECK(mmap(p, 64u << 20, PROT_NONE, ANON | MAP_FIXED | MAP_NORESERVE, -1, 0) == p);
    CHECK(mprotect(p, 64u << 20, RW) == 0 && all_bytes(p, 0, 64u << 20));
    CHECK(munmap(p, 64u << 20) == 0);
}

static void files(void)
{
    char name[] = "/tmp/farside-mapping-XXXXXX";
    int fd = mkstemp(name);
    CHECK(fd >= 0 && unlink(name) == 0);
    char block[PAGE];
    for (int i = 0; i < 8; i++) {
        memset(block, 'A' + i, PAGE);
        CHECK(write(fd, block, PAGE) == PAGE);
    }
    char *p = map(16 * PAGE, RW);
    memset(p, 'x', 16 * PAGE);
    /* A file over the middle, shared, then private; the rest keeps its content. */
    CHECK(mmap(p + 4 * PAGE, 4 * PAGE, RW, MAP_SHARED | MAP_FIXED, fd, 2 * PAGE) == p + 4 * PAGE);
    CHECK(all_bytes(p, 'x', 4 * PAGE) && all_bytes(p + 8 * PAGE, 'x', 8 * PAGE));
    CHECK(all_bytes(p + 4 * PAGE, 'C', PAGE) && all_bytes(p + 7 * PAGE, 'F', PAGE));
    p[5 * PAGE] = '!';
    CHECK(pread(fd, block, 1, 3 * PAGE) == 1 && block[0] == '!');
    CHECK(mprotect(p + 2 * PAGE, 4 * PAGE, PROT_READ) == 0 && mprotect(p, 16 * PAGE, RW) == 0);
    CHECK(mmap(p + 6 * PAGE, 4 * PAGE, RW, MAP_PRIVATE | MAP_FIXED, fd, 0) == p + 6 * PAGE);
    CHECK(p[5 * PAGE] == '!' && p[6 * PAGE] == 'A' && p[9 * PAGE + 1] == 'D' && p[10 * PAGE] == 'x');
    /* A mapping that cannot be made leaves something usable behind. */
    CHECK(mmap(p, PAGE, RW, MAP_SHARED | MAP_FIXED, -1, 0) == MAP_FAILED && errno == EBADF);
    /* Memory over the files again, then all of it gone in one call. */
    CHECK(mmap(p + 5 * PAGE, 2 * PAGE, RW, ANON | MAP_FIXED, -1, 0) == p + 5 * PAGE);
    CHECK(all_bytes(p + 5 * PAGE, 0, 2 * PAGE) && p[4 * PAGE] == 'C' && p[7 * PAGE] == 'B');
    CHECK(munmap(p, 16 * PAGE) == 0);
    char *q = map(16 * PAGE, RW);
    CHECK(all_bytes(q, 0, 16 * PAGE));
    memset(q, 1, 16 * PAGE);
    CHECK(munmap(q, 16 * PAGE) == 0);

    char *shared = mmap(NULL, 2 * PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char *file = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE, fd, PAGE);
    char *stack = mmap(NULL, 2 * PAGE, RW, ANON | MAP_STACK, -1, 0);
    CHECK(shared != MAP_FAILED && file != MAP_FAILED && stack != MAP_FAILED);
    CHECK(not_far(shared) && not_far(file) && not_far(stack) && file[0] == 'B');
    CHECK(munmap(shared, 2 * PAGE) == 0 && munmap(file, 2 * PAGE) == 0 && munmap(stack, 2 * PAGE) == 0);
    close(fd);
}

static void code(void)
{
#ifdef __x86_64__
    static const unsigned char answer[] = {0xb8, 42, 0, 0, 0, 0xc3};
    unsigned char *p = mmap(NULL, PAGE, RW | PROT_EXEC, ANON, -1, 0);
    CHECK(p != MAP_FAILED && not_far(p));
    memcpy(p, answer, sizeof answer);
    CHECK(((int (*)(void))(uintptr_t)p)() == 42 && munmap(p, PAGE) == 0);
    p = (unsigned char *)map(4 * PAGE, PROT_NONE);
    CHECK(mprotect(p + PAGE, PAGE, RW) == 0);
    memcpy(p + PAGE, answer, sizeof answer);
    CHECK(mprotect(p + PAGE, PAGE, PROT_READ | PROT_EXEC) == 0);
    CHECK(((int (*)(void))(uintptr_t)(p + PAGE))() == 42);
    CHECK(mmap(p, PAGE, RW | PROT_EXEC, ANON | MAP_FIXED, -1, 0) == p);
    memcpy(p, answer, sizeof answer);
    CHECK(((int (*)(void))(uintptr_t)p)() == 42 && munmap(p, 4 * PAGE) == 0);
#endif
}

int main(void)
{
    errors();
    zero_and_content();
    parts();
    fixed();
    files();
    code();
    puts("mapping: all as promised");
    return 0;
}
