/* The pages used last are pinned while all others are used: whoever evicts what was used last has to leave these alone,
 * and to find others. argv[1]: MiB of memory, argv[2]: pages that are pinned. Prints a sum over all of it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "farside.h"

enum { PAGE = 4096, WORDS = PAGE / 8 };

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    size_t pages = strtoul(argv[1], 0, 10) << 8, pinned = strtoul(argv[2], 0, 10);
    uint64_t *memory = aligned_alloc(PAGE, pages * PAGE), sum = 0;
    if (memory == 0) return 1;
    for (size_t at = 0; at < pages; at++) memory[at * WORDS] = at;
    const uint64_t *last = memory + (pages - pinned) * WORDS;
    for (size_t at = pages - pinned; at < pages; at++) sum += memory[at * WORDS];
    if (farside_pin(last, pinned * PAGE) != 0) return 3;
    for (int round = 0; round < 3; round++)
        for (size_t at = 0; at < pages; at++) sum = sum * 31 + memory[at * WORDS]++;
    farside_unpin(last, pinned * PAGE);
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
