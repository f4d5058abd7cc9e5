/* Memory allocated by one thread and freed by another, and what threads do while they end. */
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>

enum { WORKERS = 8, ITEMS = 20000, SLOTS = 256 };

static _Atomic(char *) slot[SLOTS];

static size_t size_of(unsigned n)
{
    return n % 97 == 0 ? 300000 : n % 7 == 0 ? 20000 : 16 + n % 500;
}

static void *exchange(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument * 2654435761u;
    for (int i = 0; i < ITEMS; i++) {
        seed = seed * 1664525 + 1013904223;
        size_t n = size_of(seed >> 8);
        char *mine = malloc(n);
        CHECK(mine && far_if_any(mine));
        memcpy(mine, &n, sizeof n);
        mine[n - 1] = (char)n;
        char *theirs = atomic_exchange(&slot[(seed >> 20) % SLOTS], mine);
        if (theirs) {
            memcpy(&n, theirs, sizeof n);
            CHECK(theirs[n - 1] == (char)n);
            if (i % 3 == 0) {
                theirs = realloc(theirs, 2 * n);
                CHECK(theirs && theirs[n - 1] == (char)n);
            }
            free(theirs);
        }
    }
    return NULL;
}

static pthread_key_t key;
static atomic_int destroyed;

static void destroy(void *value)
{
    /* Allocates again, and asks to be called again, after the allocator may have said good-bye. */
    char **chain = value;
    char *rounds = chain[0];
    char **next = rounds[0] < 3 ? malloc(2 * sizeof *next) : NULL;
    if (next) {
        next[0] = malloc(1);
        next[0][0] = rounds[0] + 1;
        next[1] = calloc(1, 70000);
        CHECK(all_bytes(next[1], 0, 70000));
        pthread_setspecific(key, next);
    }
    free(chain[0]);
    free(chain[1]);
    free(chain);
    atomic_fetch_add(&destroyed, 1);
}

static void *short_life(void *argument)
{
    char **chain = malloc(2 * sizeof *chain);
    chain[0] = calloc(1, 1);
    chain[1] = malloc(10);
    pthread_setspecific(key, chain);
    return argument ? malloc(100) : NULL;
}

static void *only_frees(void *argument)
{
    free(argument);
    return NULL;
}

int main(void)
{
    pthread_t worker[WORKERS];
    for (uintptr_t i = 0; i < WORKERS; i++)
        CHECK(pthread_create(&worker[i], NULL, exchange, (void *)(i + 1)) == 0);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(worker[i], NULL);
    for (int i = 0; i < SLOTS; i++)
        free(slot[i]);

    CHECK(pthread_key_create(&key, destroy) == 0);
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < WORKERS; i++)
            CHECK(pthread_create(&worker[i], NULL, short_life, &key) == 0);
        for (int i = 0; i < WORKERS; i++) {
            void *result;
            pthread_join(worker[i], &result);
            pthread_t other;
            CHECK(pthread_create(&other, NULL, only_frees, result) == 0);
            pthread_join(other, NULL);
        }
    }
    CHECK(destroyed == 100 * WORKERS * 4);
    puts("threads: all as promised");
    return 0;
}
