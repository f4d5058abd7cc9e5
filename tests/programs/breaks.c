/* brk and sbrk. */
#include "check.h"

int main(void)
{
    char *start = sbrk(0);
    CHECK(start != (void *)-1 && far_if_any(start));
    char *p = sbrk(100000);
    CHECK(p == start && sbrk(0) == start + 100000 && far_if_any(p + 99999));
    memset(p, 1, 100000);
    CHECK(sbrk(-50000) == start + 100000 && sbrk(0) == start + 50000 && all_bytes(p, 1, 50000));
    CHECK(sbrk(50000) == start + 50000);
    /* Whole pages that had gone come back as zeros. */
    char *page = (char *)(((uintptr_t)start + 50000 + 4095) & ~(uintptr_t)4095);
    CHECK(all_bytes(page, 0, (size_t)(start + 100000 - page)) && all_bytes(p, 1, 50000));
    CHECK(brk(start + (10 << 20)) == 0 && sbrk(0) == start + (10 << 20));
    CHECK(all_bytes(start + 102400, 0, (10 << 20) - 102400));
    memset(start, 2, 10 << 20);
    errno = 0;
    CHECK(sbrk(INTPTR_MAX) == (void *)-1 && errno == ENOMEM);
    errno = 0;
    CHECK(brk((void *)-4096) == -1 && errno == ENOMEM);
    CHECK(sbrk(0) == start + (10 << 20) && all_bytes(start, 2, 10 << 20));
    CHECK(brk(start) == 0 && sbrk(0) == start);
    puts("breaks: all as promised");
    return 0;
}
