/* Freeing, and the allocator's bookkeeping, touch no page of the objects: with all of their pages made
   inaccessible behind the library's back, free still works. */
#include "check.h"
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { PAGE = 4096, OBJECTS = 200000 };

static char *object[OBJECTS];
static uintptr_t low = UINTPTR_MAX, high;

static size_t size_of(int i)
{
    return i % 1000 == 0 ? 400000 : i % 50 == 0 ? 9000 : 16 + i % 300;
}

static pthread_barrier_t step;

static void *free_third(void *argument)
{
    /* What the C library keeps for a thread is on the heap too: it is made before and released after
       the heap is closed. */
    pthread_barrier_wait(&step);
    for (int i = (int)(uintptr_t)argument; i < OBJECTS; i += 3)
        free(object[i]);
    pthread_barrier_wait(&step);
    pthread_barrier_wait(&step);
    return NULL;
}

/* Takes the objects' pages away or gives them back, by the raw call: only the hardware knows of it. */
static void set_protection(int prot)
{
    if (high)
        CHECK(syscall(SYS_mprotect, low, high - low, prot) == 0);
}

static void find_pages(void)
{
    bool (*is_far)(const void *) = (bool (*)(const void *))dlsym(RTLD_DEFAULT, "farside_is_far");
    if (!is_far || !is_far(object[0]))
        return;
    for (int i = 0; i < OBJECTS; i++) {
        uintptr_t at = (uintptr_t)object[i];
        CHECK(is_far(object[i]));
        low = at < low ? at : low;
        high = at + size_of(i) > high ? at + size_of(i) : high;
    }
    low &= ~(uintptr_t)(PAGE - 1);
    high = (high + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
}

int main(void)
{
    pthread_t thread[3];
    CHECK(pthread_barrier_init(&step, NULL, 4) == 0);
    for (uintptr_t i = 0; i < 3; i++)
        CHECK(pthread_create(&thread[i], NULL, free_third, (void *)i) == 0);
    for (int i = 0; i < OBJECTS; i++) {
        object[i] = malloc(size_of(i));
        object[i][0] = 1;
    }
    find_pages();
    set_protection(PROT_NONE);
    pthread_barrier_wait(&step);
    pthread_barrier_wait(&step);
    set_protection(PROT_READ | PROT_WRITE);
    pthread_barrier_wait(&step);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    char *again = malloc(100);
    again[0] = 1;
    free(again);
    puts("freeing: all as promised");
    return 0;
}
