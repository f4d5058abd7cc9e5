/* madvise and posix_madvise. */
#include "check.h"
#include <sys/mman.h>

enum { PAGE = 4096, RW = PROT_READ | PROT_WRITE, ANON = MAP_PRIVATE | MAP_ANONYMOUS };

int main(void)
{
    char *p = mmap(NULL, 16 * PAGE, RW, ANON, -1, 0);
    CHECK(p != MAP_FAILED && far_if_any(p));
    memset(p, 1, 16 * PAGE);
    CHECK(madvise(p + 4 * PAGE, 4 * PAGE, MADV_DONTNEED) == 0);
    CHECK(all_bytes(p, 1, 4 * PAGE) && all_bytes(p + 4 * PAGE, 0, 4 * PAGE) && all_bytes(p + 8 * PAGE, 1, 8 * PAGE));
    memset(p, 2, 16 * PAGE);
    /* Freed pages read as before or as zeros, page by page, until they are written. */
    CHECK(madvise(p, 2 * PAGE, MADV_FREE) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(all_bytes(p + i * PAGE, 0, PAGE) || all_bytes(p + i * PAGE, 2, PAGE));
    memset(p, 3, 2 * PAGE);
    static const int harmless[] = {MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_COLD, MADV_PAGEOUT,
        MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_DONTFORK, MADV_DOFORK, MADV_DONTDUMP, MADV_DODUMP};
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        CHECK(madvise(p, 16 * PAGE, harmless[i]) == 0 || errno == EINVAL);
    CHECK(all_bytes(p, 3, 2 * PAGE) && all_bytes(p + 2 * PAGE, 2, 14 * PAGE));
    CHECK(madvise(p, PAGE, 9999) == -1 && errno == EINVAL);
    CHECK(madvise(p + 1, PAGE, MADV_DONTNEED) == -1 && errno == EINVAL);
    CHECK(madvise(p, 0, MADV_DONTNEED) == 0);
    CHECK(madvise(p, PAGE, MADV_REMOVE) == -1 && errno == EINVAL);
    CHECK(posix_madvise(p, 16 * PAGE, POSIX_MADV_DONTNEED) == 0 && all_bytes(p, 3, 2 * PAGE));
    CHECK(posix_madvise(p, 16 * PAGE, POSIX_MADV_WILLNEED) == 0);
    errno = 55;
    CHECK(posix_madvise(p, 16 * PAGE, 9999) == EINVAL && errno == 55);
    /* A hole is reported, after the rest was advised. */
    CHECK(munmap(p + 4 * PAGE, PAGE) == 0);
    CHECK(madvise(p, 16 * PAGE, MADV_DONTNEED) == -1 && errno == ENOMEM);
    CHECK(all_bytes(p, 0, 4 * PAGE) && all_bytes(p + 5 * PAGE, 0, 11 * PAGE));
    CHECK(munmap(p, 16 * PAGE) == 0);

    /* On the heap: whole pages inside an allocation. */
    char *h = malloc(64 * PAGE);
    memset(h, 4, 64 * PAGE);
    char *page = (char *)(((uintptr_t)h + PAGE) & ~(uintptr_t)(PAGE - 1));
    CHECK(madvise(page, 8 * PAGE, MADV_DONTNEED) == 0 && all_bytes(page, 0, 8 * PAGE));
    CHECK(page[8 * PAGE] == 4 && (page == h || page[-1] == 4));
    free(h);
    puts("advice: all as promised");
    return 0;
}
