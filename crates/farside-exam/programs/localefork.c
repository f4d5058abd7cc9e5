// Chooses a locale, which the C library keeps in memory of the program, touches MEGABYTES of memory, and forks: each new
// thread of the child looks the locale up before it runs. Prints what each side has found in its memory.
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned char *memory;
static size_t length;

static void *sum(void *name) {
    unsigned long total = 0;
    for (size_t at = 0; at < length; at += 512) total += memory[at];
    printf("%s: %lu\n", (const char *)name, total);
    fflush(stdout);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 2 || !setlocale(LC_ALL, "C.UTF-8")) return 2;
    length = (size_t)atoi(argv[1]) << 20;
    memory = malloc(length);
    for (int round = 0; round < 2; round++)
        for (size_t at = 0; at < length; at++) memory[at] = (unsigned char)(at >> 9) * 7 + round;
    for (int fork_no = 0; fork_no < 4; fork_no++) {
        pid_t child = fork();
        if (child < 0) return 3;
        if (child == 0) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, sum, "child")) return 4;
            pthread_join(thread, NULL);
            _exit(0);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status != 0) return 5;
        sum("parent");
    }
    return 0;
}
