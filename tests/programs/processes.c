/* fork with threads that allocate and map meanwhile, vfork, posix_spawn, and what children may do. */
#include "check.h"
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

extern char **environ;
static atomic_bool done;

static void *churn(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;
    while (!done) {
        seed = seed * 1664525 + 1013904223;
        size_t n = (seed >> 8) % 600000 + 1;
        char *p = malloc(n);
        p[0] = p[n - 1] = 1;
        p = realloc(p, n * 2);
        free(p);
        p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(p != MAP_FAILED);
        p[n - 1] = 2;
        mprotect(p, n, PROT_NONE);
        munmap(p, n);
    }
    return NULL;
}

static int wait_for(pid_t child)
{
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void child_work(char *kept, size_t n, int depth)
{
    CHECK(all_bytes(kept, 'k', n));
    memset(kept, 'c', n);
    char *p[200];
    for (int i = 0; i < 200; i++) {
        p[i] = malloc((size_t)i * i * 10 + 1);
        memset(p[i], i, (size_t)i * i * 10 + 1);
    }
    char *m = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(m != MAP_FAILED && all_bytes(m, 0, 1 << 20));
    memset(m, 'm', 1 << 20);
    if (depth > 0) {
        memset(kept, 'k', n);
        pid_t child = fork();
        if (child == 0) {
            child_work(kept, n, depth - 1);
            _exit(0);
        }
        CHECK(wait_for(child) == 0);
        CHECK(all_bytes(kept, 'k', n));
    }
    CHECK(all_bytes(m, 'm', 1 << 20));
    munmap(m, 1 << 20);
    for (int i = 0; i < 200; i++) {
        CHECK(all_bytes(p[i], i, (size_t)i * i * 10 + 1));
        free(p[i]);
    }
    free(kept);
}

int main(void)
{
    size_t n = 3 << 20;
    char *kept = malloc(n);
    memset(kept, 'k', n);
    FILE *open_file = fopen("/dev/null", "w");
    CHECK(open_file);

    pid_t child = fork();
    if (child == 0) {
        child_work(kept, n, 3);
        _exit(7);
    }
    CHECK(wait_for(child) == 7 && all_bytes(kept, 'k', n));

    pthread_t thread[3];
    for (uintptr_t i = 0; i < 3; i++)
        CHECK(pthread_create(&thread[i], NULL, churn, (void *)(i + 1)) == 0);
    for (int i = 0; i < 30; i++) {
        child = fork();
        if (child == 0) {
            child_work(kept, n, i % 10 == 0);
            _exit(i);
        }
        CHECK(wait_for(child) == i && all_bytes(kept, 'k', n));
    }
    for (int i = 0; i < 10; i++) {
        child = vfork();
        if (child == 0) {
            execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
            _exit(1);
        }
        CHECK(wait_for(child) == 3);
        char *argument[] = {"sh", "-c", "exit 4", NULL};
        CHECK(posix_spawn(&child, "/bin/sh", NULL, NULL, argument, environ) == 0);
        CHECK(wait_for(child) == 4);
    }
    done = true;
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    FILE *pipe = popen("echo from a child", "r");
    char line[64];
    CHECK(pipe && fgets(line, sizeof line, pipe) && strcmp(line, "from a child\n") == 0);
    pclose(pipe);
    CHECK(system("exit 5") == 5 << 8);
    fclose(open_file);
    free(kept);
    puts("processes: all as promised");
    return 0;
}
