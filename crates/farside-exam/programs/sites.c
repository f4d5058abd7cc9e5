/*
 * Faults at known lines: `sites MEGABYTES [FILE]`. What touches memory first bears the name of its site in a comment.
 * Prints a sum over what it read. With FILE, it reads the file into far memory by system calls as well.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>

enum { PAGE = 4096, WORDS = PAGE / 8, BLOCK = 16384 };

static size_t words;

static uint64_t mix(uint64_t x) {
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9u;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

__attribute__((noinline)) static void fill(uint64_t *memory) {
    for (size_t i = 0; i < words; i++) memory[i] = i * 0x9E3779B97F4A7C15u; /* SITE fill */
}

__attribute__((noinline)) static uint64_t forwards(const uint64_t *memory) {
    uint64_t sum = 0;
    for (size_t i = 0; i < words; i += 8) sum = sum * 3 + memory[i]; /* SITE forwards */
    return sum;
}

__attribute__((noinline)) static uint64_t backwards(const uint64_t *memory) {
    uint64_t sum = 0;
    for (size_t i = words; i > 0; i -= 8) sum = sum * 3 + memory[i - 8]; /* SITE backwards */
    return sum;
}

__attribute__((noinline)) static void scattered(uint64_t *memory) {
    for (uint64_t i = 0; i < 4000; i++) memory[mix(i) % words] = i; /* SITE scattered */
}

/* Reads first, so that the pages come for reading. */
__attribute__((noinline)) static uint64_t changed(uint64_t *memory) {
    enum { CHUNK = 64 * WORDS };
    uint64_t sum = 0;
    for (size_t chunk = 0; chunk < words; chunk += CHUNK) {
        uint64_t *first = memory + chunk, *end = first + CHUNK;
        for (uint64_t *at = first; at < end; at += WORDS) sum = sum * 3 + *at; /* SITE looked */
        for (uint64_t *at = first; at < end; at += WORDS) at[9] = sum; /* SITE changed */
    }
    return sum;
}

/* Copies in the C library. */
__attribute__((noinline)) static void copied(uint64_t *memory) {
    char *to = (char *)memory, *from = to + words * 4;
    for (size_t i = 0; i + BLOCK <= words * 4; i += BLOCK) {
        memcpy(to + i, from + i, BLOCK); /* SITE copied */
    }
}

/* Follows pointers, from page to page. */
__attribute__((noinline)) static uint64_t chased(uint64_t *memory) {
    uint64_t sum = 0, pages = words / WORDS;
    for (uint64_t page = 0; page < pages; page++) {
        /* A generator of numbers whose period is their number, a power of two. */
        uint64_t next = (page * 1664525 + 1013904223) % pages;
        *(uint64_t **)&memory[page * WORDS] = &memory[next * WORDS]; /* SITE linked */
    }
    uint64_t *node = memory;
    for (uint64_t i = 0; i < pages; i++) {
        sum = sum * 3 + node[9]; /* SITE chased */
        node = *(uint64_t **)node;
    }
    /* What is read later must not depend on where it lies. */
    for (uint64_t page = 0; page < pages; page++) memory[page * WORDS] = page;
    return sum;
}

/* Goes into the kernel. */
__attribute__((noinline)) static void received(uint64_t *memory, const char *path) {
    int file = open(path, O_RDONLY);
    if (file < 0) exit(3);
    for (size_t i = 0; i < words; i += WORDS) {
        if (pread(file, &memory[i], 64, 0) != 64) exit(3); /* SITE received */
    }
    close(file);
}

static void *thread(void *memory) {
    return (void *)(uintptr_t)forwards(memory);
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    words = strtoul(argv[1], 0, 10) * (1 << 20) / 8;
    uint64_t *memory = malloc(words * 8);
    if (!memory) return 3;
    fill(memory);
    uint64_t sum = forwards(memory) + backwards(memory);
    scattered(memory);
    sum += changed(memory);
    copied(memory);
    sum += chased(memory);
    if (argc > 2) received(memory, argv[2]);
    pthread_t other;
    void *result;
    if (pthread_create(&other, 0, thread, memory) || pthread_join(other, &result)) return 4;
    sum += (uintptr_t)result;
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) return 5;
    /* What a child does is its own. */
    if (child == 0) _exit(backwards(memory) & 63);
    int status;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 5;
    printf("%016llx\n", (unsigned long long)(sum * 64 + WEXITSTATUS(status)));
    return 0;
}
