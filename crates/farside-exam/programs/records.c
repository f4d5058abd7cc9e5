/* Records of 128 bytes, of which the most part of the program uses 8. */
#include <stdio.h>
#include <stdlib.h>

struct record {
    long key, visits;
    char rest[112];
};

static struct record *records;

__attribute__((noinline)) static void new_records(long count) {
    long i;
    records = malloc(count * sizeof *records);
    for (i = 0; i < count; i++) {
        records[i].key = i * 31 % 101;
        records[i].visits = 0;
        records[i].rest[i % 112] = i;
    }
}

__attribute__((noinline)) static long visit(long count, long rounds) {
    long sum = 0, round, i;
    for (round = 0; round < rounds; round++)
        for (i = 0; i < count; i++) sum = sum * 3 + records[i].visits++;
    return sum;
}

int main(int argc, char **argv) {
    const long count = argc > 1 ? atol(argv[1]) : 100000, rounds = argc > 2 ? atol(argv[2]) : 5;
    new_records(count);
    printf("%ld\n", visit(count, rounds));
    printf("%ld %d\n", records[count / 2].visits, records[count / 3].rest[count / 3 % 112]);
    return 0;
}
