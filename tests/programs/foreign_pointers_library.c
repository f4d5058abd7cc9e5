/* Loaded by foreign_pointers.c. */
#include <stdlib.h>
#include <string.h>

char *made_in_constructor;
static __thread char large_thread_local[1 << 16];

__attribute__((constructor)) static void construct(void)
{
    made_in_constructor = strdup("made in constructor");
}

__attribute__((destructor)) static void destruct(void)
{
    free(made_in_constructor);
}

char *make(void)
{
    strcpy(large_thread_local, "made in function");
    return strdup(large_thread_local);
}
