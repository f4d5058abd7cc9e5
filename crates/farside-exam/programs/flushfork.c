// Forks while a thread that flushes all streams waits for one, whose thread then allocates memory before it lets go of it:
// a fork that takes the allocator's locks before that of the list of streams never ends.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 64 };

static FILE *stream;
static atomic_int flusher, forks, held;

// Waits until a thread sleeps, and goes on sleeping for a while.
static void await_sleep(int thread) {
    char name[64];
    snprintf(name, sizeof name, "/proc/self/task/%d/stat", thread);
    for (int asleep = 0; asleep < 50;) {
        char text[256] = "";
        int file = open(name, O_RDONLY);
        if (file < 0 || read(file, text, sizeof text - 1) <= 0) abort();
        close(file);
        const char *state = strrchr(text, ')');
        asleep = state && state[2] == 'S' ? asleep + 1 : 0;
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
}

static void *hold(void *unused) {
    static char *blocks[BLOCKS];
    flockfile(stream);
    held = 1;
    while (!flusher) sched_yield();
    await_sleep(flusher);
    forks = 1;
    await_sleep(getpid());
    for (int at = 0; at < BLOCKS; at++)
        if (!(blocks[at] = malloc((size_t)(at + 1) << 14))) abort();
    for (int at = 0; at < BLOCKS; at++) free(blocks[at]);
    funlockfile(stream);
    return unused;
}

static void *flush(void *unused) {
    flusher = (int)syscall(SYS_gettid);
    fflush(NULL);
    return unused;
}

int main(void) {
    pthread_t holder, flushing;
    stream = tmpfile();
    if (!stream || fputs("something", stream) < 0) return 2;
    if (pthread_create(&holder, NULL, hold, NULL)) return 3;
    while (!held) sched_yield();
    if (pthread_create(&flushing, NULL, flush, NULL)) return 3;
    while (!forks) sched_yield();
    pid_t child = fork();
    if (child < 0) return 4;
    if (child == 0) {
        // The child's streams are free to use.
        FILE *null = fopen("/dev/null", "w");
        fflush(NULL);
        _exit(null && !fclose(null) ? 0 : 5);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0) return 6;
    pthread_join(holder, NULL);
    pthread_join(flushing, NULL);
    puts("parent and child went on");
    return 0;
}
