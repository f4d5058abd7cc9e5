// Chooses a locale, which the C library keeps in memory of the program, touches MEGABYTES of memory, and then one page
// after the other, with a child between two that does nothing: at some of these forks all local memory is in use.
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc != 3 || !setlocale(LC_ALL, "C.UTF-8")) return 2;
    size_t length = (size_t)atoi(argv[1]) << 20;
    volatile unsigned char *memory = malloc(length);
    for (int round = 0; round < 2; round++)
        for (size_t at = 0; at < length; at += 4096) memory[at] += at >> 12;
    unsigned long sum = 0;
    for (size_t page = 0; page < (size_t)atoi(argv[2]); page++) {
        sum += memory[page * 4096 * 7 % length];
        pid_t child = fork();
        if (child < 0) return 3;
        if (child == 0) _exit(0);
        int status;
        if (waitpid(child, &status, 0) != child || status != 0) return 5;
    }
    printf("%lu\n", sum);
    return 0;
}
