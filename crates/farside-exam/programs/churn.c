// Changes pages at random, and checks every page it comes to: `churn MEGABYTES [ROUNDS]`; without ROUNDS there
// are as many as the variable CHURN_ROUNDS says. A page holds the number of its
// last change, and words that follow from it. Says "filled" when all pages hold something, and at the end how many
// changes all pages have had, and a sum over their content.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 512 };

static uint64_t mix(uint64_t x) {
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9u;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static void fill(uint64_t *page, uint64_t number, uint64_t change) {
    page[0] = change;
    for (int i = 1; i < WORDS; i++) page[i] = mix(number << 40 ^ change << 10 ^ (uint64_t)i);
}

static void check(const uint64_t *page, uint64_t number) {
    for (int i = 1; i < WORDS; i++) {
        if (page[i] != mix(number << 40 ^ page[0] << 10 ^ (uint64_t)i)) {
            printf("garbage in page %llu\n", (unsigned long long)number);
            exit(66);
        }
    }
}

int main(int argc, char **argv) {
    const char *text = argc == 3 ? argv[2] : getenv("CHURN_ROUNDS");
    if (argc < 2 || argc > 3 || !text) return 2;
    uint64_t pages = strtoull(argv[1], 0, 10) * 256, rounds = strtoull(text, 0, 10);
    uint64_t *all = malloc(pages * WORDS * sizeof *all);
    if (!all) return 3;
    for (uint64_t n = 0; n < pages; n++) fill(all + n * WORDS, n, 0);
    puts("filled");
    fflush(stdout);
    uint64_t state = 1;
    for (uint64_t round = 0; round < rounds; round++) {
        for (uint64_t i = 0; i < pages; i++) {
            state = mix(state + 0x9E3779B97F4A7C15u);
            uint64_t n = state % pages;
            uint64_t *page = all + n * WORDS;
            check(page, n);
            if (state >> 60 < 8) fill(page, n, page[0] + 1);
        }
    }
    uint64_t changes = 0, sum = 0;
    for (uint64_t n = 0; n < pages; n++) {
        check(all + n * WORDS, n);
        changes += all[n * WORDS];
        sum = mix(sum + all[n * WORDS + 7]);
    }
    printf("%llu changes, sum %016llx\n", (unsigned long long)changes, (unsigned long long)sum);
    return 0;
}
