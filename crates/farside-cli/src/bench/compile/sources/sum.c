/* The sum of an array, some times over: sum NUMBERS ROUNDS. */
#include "measured.h"

static long *new_numbers(long count) {
    return there(malloc(count * sizeof(long)));
}

static long sum(const long *numbers, long count) {
    long all = 0;
    for (long i = 0; i < count; i++) all += numbers[i];
    return all;
}

int main(int argc, char **argv) {
    long count = argument(argc, argv, 1, 8000000), rounds = argument(argc, argv, 2, 20);
    long *numbers = new_numbers(count);
    uint64_t state = 1;
    for (long i = 0; i < count; i++) numbers[i] = (long)(draw(&state) >> 8);
    double begin = now();
    long all = 0;
    for (long round = 0; round < rounds; round++) all = all * 31 + sum(numbers, count);
    took(begin);
    printf("%lx\n", all);
    free(numbers);
    return 0;
}
