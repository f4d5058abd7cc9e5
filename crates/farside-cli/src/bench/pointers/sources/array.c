/*
 * An array that is streamed: `array MEGABYTES PASSES`. It is read once to warm up, and then, which is measured, PASSES times.
 */
#include "part.h"

/* Sums in a way that no compiler can do several at once. */
static uint64_t stream(const uint64_t *array, size_t count, uint64_t sum) {
    for (size_t i = 0; i < count; i++) sum = sum * 3 + array[i];
    return sum;
}

int main(int count, char **arguments) {
    const size_t words = number(count, arguments, 1) << 17;
    const uint64_t passes = number(count, arguments, 2);
    uint64_t *array = allocate(words * sizeof *array), state = 1;
    for (size_t i = 0; i < words; i++) array[i] = draw(&state);
    uint64_t sum = stream(array, words, 0);
    const double begin = begin_part();
    for (uint64_t i = 0; i < passes; i++) sum = stream(array, words, sum);
    end_part(begin);
    printf("%016llx\n", (unsigned long long)sum);
    return 0;
}
