/* brk and sbrk. */
#include "check.h"

int main(void)
{
    /* The C library's own heap moves the same break: nothing here may allocate in between. */
    char *start = sbrk(0);
    bool far = far_if_any(start);
    free(malloc(100000));
    start = sbrk(0);
    CHECK(start != (void *)-1 && far);
    char *p = sbrk(100000);
    CHECK(p == start && sbrk(0) == start + 100000);
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
    far = far_if_any(start + 99999);
    CHECK(far && brk(start) == 0 && sbrk(0) == start);
    puts("breaks: all as promised");
    return 0;
}
