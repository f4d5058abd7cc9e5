/* Every entry of the malloc family, with its edge cases. */
#include "check.h"
#include <malloc.h>

static volatile size_t huge = SIZE_MAX;

static void sizes(void)
{
    for (size_t n = 0; n < 3000; n += 7) {
        char *p = malloc(n);
        CHECK(p && (uintptr_t)p % 16 == 0 && malloc_usable_size(p) >= n);
        memset(p, 0x5a, malloc_usable_size(p));
        free(p);
    }
    char *p = malloc(100), *q = malloc(0), *r = malloc(0);
    CHECK(far_if_any(p) && q && r && q != r);
    free(p);
    free(q);
    free(r);
    free(NULL);
    for (size_t n = 1 << 12; n <= 256u << 20; n *= 4) {
        p = malloc(n);
        CHECK(p && far_if_any(p) && far_if_any(p + n - 1));
        p[0] = 1;
        p[n / 2] = 2;
        p[n - 1] = 3;
        CHECK(p[0] == 1 && p[n / 2] == 2 && p[n - 1] == 3);
        free(p);
    }
    errno = 0;
    CHECK(!malloc(huge) && errno == ENOMEM);
    errno = 0;
    CHECK(!malloc(huge / 2 + 1) && errno == ENOMEM);
}

static void zeroed(void)
{
    for (int round = 0; round < 4; round++)
        for (size_t n = 1; n <= 16u << 20; n = n * 3 + 1) {
            char *p = calloc(n, 1);
            CHECK(p && all_bytes(p, 0, n));
            memset(p, 0xff, n);
            free(p);
        }
    CHECK(!calloc(huge, 2) && errno == ENOMEM);
    CHECK(!calloc(huge / 4, 5) && errno == ENOMEM);
    void *p = calloc(0, 8), *q = calloc(8, 0);
    CHECK(p && q);
    free(p);
    free(q);
}

static void resize(void)
{
    char *p = realloc(NULL, 10);
    CHECK(p);
    size_t last = 10;
    memset(p, 7, 10);
    /* Up through all classes and down again, content kept. */
    for (size_t n = 10; n < 64u << 20; n = n * 3 / 2 + 1) {
        p = realloc(p, n);
        CHECK(p && all_bytes(p, 7, last));
        memset(p, 7, n);
        last = n;
    }
    for (size_t n = last / 2; n > 0; n /= 3) {
        p = realloc(p, n);
        CHECK(p && all_bytes(p, 7, n));
    }
    CHECK(!realloc(p, 0));
    p = malloc(1 << 20);
    memset(p, 9, 1 << 20);
    errno = 0;
    CHECK(!realloc(p, huge - 4096) && errno == ENOMEM && all_bytes(p, 9, 1 << 20));
    errno = 0;
    CHECK(!reallocarray(p, huge / 2, 3) && errno == ENOMEM && all_bytes(p, 9, 1 << 20));
    p = reallocarray(p, 1 << 10, 3 << 10);
    CHECK(p && all_bytes(p, 9, 1 << 20));
    free(p);
    /* Two large objects that grow in turn cannot both grow in place. */
    char *a = malloc(300 << 10), *b = malloc(300 << 10);
    memset(a, 'a', 300 << 10);
    memset(b, 'b', 300 << 10);
    size_t old = 300 << 10;
    for (size_t n = 600 << 10; n < 100u << 20; n *= 2) {
        a = realloc(a, n);
        b = realloc(b, n);
        CHECK(a && b && all_bytes(a, 'a', old) && all_bytes(b, 'b', old));
        CHECK(far_if_any(a) && far_if_any(b + n - 1));
        memset(a, 'a', n);
        memset(b, 'b', n);
        old = n;
    }
    free(a);
    free(b);
}

static void alignments(void)
{
    for (size_t align = 8; align <= 8u << 20; align *= 2)
        for (size_t n = 0; n <= 3 * align && n < 1u << 20; n += align / 2 + 1) {
            void *p = NULL;
            errno = 77;
            CHECK(posix_memalign(&p, align, n) == 0 && errno == 77);
            CHECK(p && (uintptr_t)p % align == 0);
            memset(p, 1, n);
            void *q = aligned_alloc(align, n), *r = memalign(align, n);
            CHECK(q && r && (uintptr_t)q % align == 0 && (uintptr_t)r % align == 0);
            memset(q, 2, n);
            memset(r, 3, n);
            p = realloc(p, 2 * n + 1);
            CHECK(p && all_bytes(p, 1, n) && all_bytes(q, 2, n) && all_bytes(r, 3, n));
            free(p);
            free(q);
            free(r);
        }
    static int here;
    void *kept = &here, *p = kept;
    CHECK(posix_memalign(&p, 3, 8) == EINVAL && p == kept);
    CHECK(posix_memalign(&p, 4, 8) == EINVAL && posix_memalign(&p, 0, 8) == EINVAL);
    CHECK(posix_memalign(&p, 24, 8) == EINVAL);
    CHECK(posix_memalign(&p, 64, huge - 128) == ENOMEM && p == kept);
    p = memalign(48, 100);
    CHECK(p && (uintptr_t)p % 64 == 0);
    free(p);
    p = valloc(10);
    CHECK(p && (uintptr_t)p % 4096 == 0);
    free(p);
    p = pvalloc(4097);
    CHECK(p && (uintptr_t)p % 4096 == 0 && malloc_usable_size(p) >= 8192);
    free(p);
    errno = 0;
    CHECK(!pvalloc(huge) && errno == ENOMEM);
    errno = 0;
    CHECK(!aligned_alloc(64, huge - 200) && errno == ENOMEM);
}

static void tuning(void)
{
    CHECK(malloc_usable_size(NULL) == 0);
    CHECK(mallopt(M_MMAP_THRESHOLD, 1 << 20) == 1);
    (void)mallinfo2();
    int trimmed = malloc_trim(0);
    CHECK(trimmed == 0 || trimmed == 1);
    FILE *nowhere = fopen("/dev/null", "w");
    CHECK(nowhere && malloc_info(0, nowhere) == 0 && malloc_info(1, nowhere) == EINVAL);
    fclose(nowhere);
}

static void errno_kept(void)
{
    void *p[64];
    for (int i = 0; i < 64; i++)
        p[i] = malloc((size_t)1 << (i % 24));
    errno = 42;
    for (int i = 0; i < 64; i++)
        free(p[i]);
    free(NULL);
    CHECK(errno == 42);
    void *q = malloc(1 << 20);
    CHECK(errno == 42);
    q = realloc(q, 4 << 20);
    free(q);
    CHECK(errno == 42);
}

int main(void)
{
    sizes();
    zeroed();
    resize();
    alignments();
    tuning();
    errno_kept();
    puts("malloc family: all as promised");
    return 0;
}
