// Uses pages until its input ends, over and over: from the first to the last ("loop"), by chance ("chance"), or a quarter
// three times and then the rest ("two"). "pair" is two children made by fork that do what "loop" does, with so many pages
// each. A number on its input changes how many of them it uses from then on. Prints a sum
// of all that it made them hold, which does not depend on how often it came to them.
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, AT_ONCE = 256 };

static volatile unsigned char *memory;
static volatile unsigned char nothing;
static uint64_t state = 88172645463325252u;

static uint64_t chance(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state >> 11;
}

// Reads numbers that have come; returns 0 at the end of the input.
static int listens(size_t most, size_t *pages) {
    static char line[32];
    static size_t length;
    struct pollfd input = {.fd = 0, .events = POLLIN};
    while (poll(&input, 1, 0) > 0) {
        char byte;
        if (read(0, &byte, 1) != 1) return 0;
        if (byte != '\n' && length < sizeof line - 1) {
            line[length++] = byte;
            continue;
        }
        line[length] = 0;
        size_t wanted = strtoul(line, NULL, 10);
        if (wanted > 0 && wanted <= most) *pages = wanted;
        length = 0;
    }
    return 1;
}

static int turns(char order, size_t all) {
    size_t pages = all, at = 0;
    memory = malloc(all * PAGE);
    if (!memory || !all) return 1;
    for (size_t page = 0; page < all; page++)
        for (size_t byte = 0; byte < PAGE; byte += 8) *(uint64_t *)(memory + page * PAGE + byte) = chance();
    while (listens(all, &pages)) {
        for (int use = 0; use < AT_ONCE; use++, at++) {
            size_t page = at % pages;
            if (order == 'c') page = chance() % pages;
            if (order == 't' && at / pages % 4 < 3) page %= pages / 4 + 1;
            nothing = memory[page * PAGE + page % PAGE];
        }
    }
    uint64_t sum = 0;
    for (size_t page = 0; page < all; page++) sum = sum * 31 + *(uint64_t *)(memory + page * PAGE + page % 500 * 8);
    printf("%llu\n", (unsigned long long)sum);
    fflush(stdout);
    return 0;
}

// Both print the same, in whichever order.
static int pair(size_t all) {
    int failed = 0, status;
    for (int child = 0; child < 2; child++) {
        pid_t pid = fork();
        if (pid < 0) return 3;
        if (!pid) _exit(turns('l', all));
    }
    while (wait(&status) > 0) failed |= status;
    return failed != 0;
}

int main(int count, char **values) {
    if (count != 3) return 2;
    size_t all = strtoul(values[2], NULL, 10);
    return values[1][0] == 'p' ? pair(all) : turns(values[1][0], all);
}
