/* Pointers that the C library's own allocator made, and libraries that allocate before main. */
#include "check.h"
#include <malloc.h>

extern void *__libc_malloc(size_t);

static char *early;

__attribute__((constructor)) static void before_main(void)
{
    early = malloc(100000);
    memset(early, 'e', 100000);
}

__attribute__((destructor)) static void after_main(void)
{
    char *late = malloc(1 << 20);
    memset(late, 'l', 1 << 20);
    free(late);
    free(early);
}

static void at_exit(void)
{
    early = realloc(early, 3 << 20);
    CHECK(early && all_bytes(early, 'e', 100000));
}

int main(int argc, char **argv)
{
    (void)argc;
    char *p = __libc_malloc(1000);
    CHECK(p && not_far(p) && malloc_usable_size(p) >= 1000);
    memset(p, 'p', 1000);
    p = realloc(p, 100000);
    CHECK(p && all_bytes(p, 'p', 1000));
    free(p);
    free(__libc_malloc(10));

    CHECK(all_bytes(early, 'e', 100000));
    atexit(at_exit);

    /* A library that allocates in its constructor. */
    char path[4096];
    snprintf(path, sizeof path, "%s.so", argv[0]);
    void *library = dlopen(path, RTLD_NOW);
    CHECK(library);
    char **made = dlsym(library, "made_in_constructor");
    char *(*make)(void) = (char *(*)(void))dlsym(library, "make");
    CHECK(made && *made && make && strcmp(*made, "made in constructor") == 0);
    free(*made);
    *made = NULL;
    p = make();
    CHECK(strcmp(p, "made in function") == 0);
    dlclose(library);
    free(p);
    CHECK(!dlopen("/nowhere/to/be/found.so", RTLD_NOW) && dlerror());
    CHECK(!dlsym(RTLD_DEFAULT, "no_such_symbol_anywhere") && dlerror());
    puts("foreign pointers: all as promised");
    return 0;
}
