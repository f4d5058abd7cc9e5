/* The laws of mremap. */
#include "check.h"
#include <fcntl.h>
#include <sys/mman.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

enum { PAGE = 4096, RW = PROT_READ | PROT_WRITE, ANON = MAP_PRIVATE | MAP_ANONYMOUS };

static char *map(size_t pages)
{
    char *p = mmap(NULL, pages * PAGE, RW, ANON, -1, 0);
    CHECK(p != MAP_FAILED && far_if_any(p));
    for (size_t i = 0; i < pages; i++)
        memset(p + i * PAGE, (int)i + 1, PAGE);
    return p;
}

static bool numbered(const char *p, size_t pages)
{
    for (size_t i = 0; i < pages; i++)
        if (!all_bytes(p + i * PAGE, (int)i + 1, PAGE))
            return false;
    return true;
}

static void sizes(void)
{
    char *p = map(8);
    CHECK(mremap(p, 8 * PAGE, 4 * PAGE, 0) == p && numbered(p, 4));
    CHECK(mremap(p, 4 * PAGE, 8 * PAGE, 0) == p && numbered(p, 4) && all_bytes(p + 4 * PAGE, 0, 4 * PAGE));
    /* Something in the way: it moves, if it may. */
    char *wall = mmap(p + 8 * PAGE, PAGE, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0);
    if (wall == MAP_FAILED)
        CHECK(errno == EEXIST);
    errno = 0;
    CHECK(mremap(p, 8 * PAGE, 64 * PAGE, 0) == MAP_FAILED && errno == ENOMEM);
    char *q = mremap(p, 8 * PAGE, 64 * PAGE, MREMAP_MAYMOVE);
    CHECK(q != MAP_FAILED && q != p && far_if_any(q) && far_if_any(q + 64 * PAGE - 1));
    CHECK(numbered(q, 4) && all_bytes(q + 4 * PAGE, 0, 60 * PAGE));
    CHECK(madvise(p, PAGE, MADV_NORMAL) == -1 && errno == ENOMEM);
    if (wall != MAP_FAILED)
        CHECK(munmap(wall, PAGE) == 0);
    CHECK(munmap(q, 64 * PAGE) == 0);
}

static void fixed(void)
{
    char *p = map(8), *q = map(16);
    CHECK(mremap(p, 8 * PAGE, 6 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, q + 4 * PAGE) == q + 4 * PAGE);
    CHECK(numbered(q, 4) && numbered(q + 4 * PAGE, 6) && q[10 * PAGE] == 11 && q[15 * PAGE] == 16);
    /* Overlap, odd address, missing flag. */
    CHECK(mremap(q, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, q + PAGE) == MAP_FAILED && errno == EINVAL);
    CHECK(mremap(q, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, q + 8 * PAGE + 1) == MAP_FAILED && errno == EINVAL);
    CHECK(mremap(q, 4 * PAGE, 4 * PAGE, MREMAP_FIXED, q + 8 * PAGE) == MAP_FAILED && errno == EINVAL);
    CHECK(mremap(q, 4 * PAGE, 0, MREMAP_MAYMOVE) == MAP_FAILED && errno == EINVAL);
    CHECK(mremap(q + 1, 4 * PAGE, 8 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED && errno == EINVAL);
    CHECK(munmap(q + 2 * PAGE, PAGE) == 0);
    CHECK(mremap(q, 4 * PAGE, 8 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT);
    CHECK(munmap(q, 16 * PAGE) == 0);

    /* Out of far memory, and into it. */
    p = map(4);
    q = mmap(NULL, 4 * PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(q != MAP_FAILED);
    CHECK(mremap(p, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, q) == q && numbered(q, 4));
    p = map(6);
    CHECK(mremap(q, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, p + PAGE) == p + PAGE);
    CHECK(p[0] == 1 && numbered(p + PAGE, 4) && p[5 * PAGE] == 6);
    CHECK(munmap(p, 6 * PAGE) == 0);
}

static void protection(void)
{
    char *p = map(4);
    CHECK(mprotect(p, 4 * PAGE, PROT_READ) == 0);
    char *q = map(1);
    p = mremap(p, 4 * PAGE, 40 * PAGE, MREMAP_MAYMOVE);
    CHECK(p != MAP_FAILED && numbered(p, 4) && all_bytes(p + 4 * PAGE, 0, 36 * PAGE));
    int pipes[2];
    CHECK(pipe(pipes) == 0 && write(pipes[1], "ab", 2) == 2);
    /* Still read-only: the kernel may not write there either. */
    CHECK(read(pipes[0], p, 1) == -1 && errno == EFAULT);
    CHECK(read(pipes[0], p + 20 * PAGE, 1) == -1 && errno == EFAULT);
    CHECK(mprotect(p, 40 * PAGE, RW) == 0 && read(pipes[0], p, 2) == 2 && p[0] == 'a');
    CHECK(munmap(p, 40 * PAGE) == 0 && munmap(q, PAGE) == 0);
}

static void left_mapped(void)
{
    char *p = map(4);
    char *q = mremap(p, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
    CHECK(q != MAP_FAILED && q != p && numbered(q, 4) && all_bytes(p, 0, 4 * PAGE));
    memset(p, 5, 4 * PAGE);
    CHECK(numbered(q, 4));
    CHECK(mremap(p, 4 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL) == MAP_FAILED && errno == EINVAL);
    CHECK(munmap(p, 4 * PAGE) == 0 && munmap(q, 4 * PAGE) == 0);
}

static void growing_array(void)
{
    size_t pages = 1;
    char *p = map(1);
    while (pages < 4096) {
        char *q = mremap(p, pages * PAGE, 2 * pages * PAGE, MREMAP_MAYMOVE);
        CHECK(q != MAP_FAILED && numbered(q, pages));
        for (size_t i = pages; i < 2 * pages; i++)
            memset(q + i * PAGE, (int)i + 1, PAGE);
        p = q;
        pages *= 2;
    }
    CHECK(munmap(p, pages * PAGE) == 0);
}

int main(void)
{
    sizes();
    fixed();
    protection();
    left_mapped();
    growing_array();
    puts("remapping: all as promised");
    return 0;
}
