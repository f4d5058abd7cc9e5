// A tree of processes: every one inherits its parent's memory, checks it, changes its own copy, and
// has children of its own; parents go on writing meanwhile and nobody may see anybody else's writes.
// argv[1] is the size in MiB, argv[2] the depth, argv[3] the children of each.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_PER_PAGE 512ul

static uint64_t *memory;
static size_t pages;

static void write_all(uint64_t mark) {
    for (size_t i = 0; i < pages; i++) memory[i * WORDS_PER_PAGE + i % WORDS_PER_PAGE] = mark + i;
}

static int holds(uint64_t mark) {
    for (size_t i = 0; i < pages; i++)
        if (memory[i * WORDS_PER_PAGE + i % WORDS_PER_PAGE] != mark + i) return 0;
    return 1;
}

static uint64_t node(uint64_t name, int depth, int children) {
    uint64_t mark = name * 1000003;
    write_all(mark);
    uint64_t sum = name;
    int pipes[16][2];
    pid_t pid[16];
    for (int c = 0; c < children && depth > 0; c++) {
        if (pipe(pipes[c])) _exit(3);
        pid[c] = fork();
        if (pid[c] < 0) _exit(4);
        if (pid[c] == 0) {
            close(pipes[c][0]);
            // What the parent had at the fork, although it writes on at once.
            if (!holds(mark + (uint64_t)c)) _exit(5);
            char *block = malloc(1 << 20);
            memset(block, (int)name, 1 << 20);
            uint64_t answer = node(name * 16 + (uint64_t)c + 1, depth - 1, children);
            free(block);
            if (write(pipes[c][1], &answer, sizeof answer) != sizeof answer) _exit(6);
            _exit(0);
        }
        close(pipes[c][1]);
        write_all(mark + (uint64_t)c + 1);
    }
    for (int c = 0; c < children && depth > 0; c++) {
        uint64_t answer;
        int status;
        if (read(pipes[c][0], &answer, sizeof answer) != sizeof answer) _exit(7);
        close(pipes[c][0]);
        if (waitpid(pid[c], &status, 0) != pid[c] || status != 0) _exit(8);
        sum = sum * 31 + answer;
    }
    if (!holds(mark + (depth > 0 ? (uint64_t)children : 0))) _exit(9);
    return sum;
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    pages = strtoul(argv[1], NULL, 10) << 20 >> 12;
    memory = malloc(pages * WORDS_PER_PAGE * 8);
    if (!memory) return 1;
    int children = atoi(argv[3]);
    if (children > 15) return 2;
    printf("%lx\n", (unsigned long)node(1, atoi(argv[2]), children));
    free(memory);
    return 0;
}
