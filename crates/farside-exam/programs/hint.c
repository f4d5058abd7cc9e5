/* The least program that gives a hint, in what C and C++ have in common: `hint MEGABYTES`. */
#include <farside.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    unsigned long count, i, at = 1, sum = 0;
    unsigned long *memory;
    if (argc != 2) return 2;
    count = strtoul(argv[1], 0, 10) << 17;
    memory = (unsigned long *)malloc(count * sizeof *memory);
    if (!memory) return 3;
    for (i = 0; i < count; i++) memory[i] = i * 0x9E3779B97F4A7C15ul;
    for (i = 0; i < 10000; i++) {
        at = at * 6364136223846793005ul + 1442695040888963407ul;
        farside_hint(&memory[(at >> 20) % count]);
        sum = sum * 3 + memory[(at >> 20) % count];
    }
    printf("%lx\n", sum);
    return 0;
}
