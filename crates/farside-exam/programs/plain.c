// Fills memory, says so on standard output, and then goes over it until killed: argv[1] MiB. Any
// value that is not what was written is reported and ends the program with code 66.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    size_t words = strtoul(argv[1], NULL, 10) << 20 >> 3;
    uint64_t *p = malloc(words * 8);
    if (!p) return 1;
    for (size_t i = 0; i < words; i++) p[i] = i * 0x9e3779b97f4a7c15ull;
    puts("filled");
    fflush(stdout);
    for (uint64_t turn = 0;; turn++)
        for (size_t i = turn % 512; i < words; i += 512)
            if (p[i] != i * 0x9e3779b97f4a7c15ull) {
                puts("garbage");
                return 66;
            }
}
