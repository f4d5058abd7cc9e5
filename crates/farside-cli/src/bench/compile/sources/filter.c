/*
 * A filter and aggregates over what it lets through (Mira, 5.6): each query reads columns from their first row to their
 * last, and leaves some numbers. filter ROWS QUERIES
 */
#include "measured.h"

static double *fares;
static float *miles;
static int32_t *zones;
static size_t rows;

struct totals {
    double sum, most;
    uint64_t count;
};

/* What was paid in some zones for at least so many miles. */
__attribute__((noinline)) static void pay(int32_t first, int32_t last, float least, struct totals *totals) {
    struct totals found = {0, 0, 0};
    for (size_t i = 0; i < rows; ++i) {
        if (zones[i] < first || zones[i] > last || miles[i] < least) continue;
        found.sum += fares[i];
        if (fares[i] > found.most) found.most = fares[i];
        ++found.count;
    }
    *totals = found;
}

/* How far people went for more than that. */
__attribute__((noinline)) static double length(double fare) {
    double sum = 0;
    for (size_t i = 0; i < rows; ++i)
        if (fares[i] > fare) sum += miles[i];
    return sum;
}

static void fill(void) {
    uint64_t state = 7;
    for (size_t i = 0; i < rows; ++i) {
        const uint64_t chance = draw(&state);
        zones[i] = (int32_t)(chance % 265);
        miles[i] = (float)(chance >> 20 & 4095) / 100;
        fares[i] = 3 + 2.5 * miles[i] + (double)(chance >> 40 & 1023) / 100;
    }
}

int main(int count, char **values) {
    const long queries = argument(count, values, 2, 10);
    struct totals totals;
    rows = (size_t)argument(count, values, 1, 1000000);
    fares = there(malloc(rows * sizeof *fares));
    miles = there(malloc(rows * sizeof *miles));
    zones = there(malloc(rows * sizeof *zones));
    fill();
    const double begin = now();
    for (long i = 0; i < queries; ++i) {
        pay((int32_t)(i * 7 % 200), (int32_t)(i * 7 % 200 + 40), (float)(i % 5), &totals);
        printf("%.2f %.2f %lu %.2f\n", totals.sum, totals.most, (unsigned long)totals.count, length(50 + (double)(i % 30)));
    }
    took(begin);
    return 0;
}
