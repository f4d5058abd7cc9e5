// Multigrid on a cube with periodic borders, like MG of the NAS suite: V cycles for the Poisson equation.
// Usage: mg SIDE CYCLES (a power of two). Prints a checksum of the solution.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_LEVELS = 10 };

// Solution, right hand side and remainder of each level; level 0 is the finest.
static double *u[MOST_LEVELS], *v[MOST_LEVELS], *r[MOST_LEVELS];
static long side[MOST_LEVELS];

static double around(const double *a, long n, long i, long j, long k) {
    long m = n - 1, row = (i * n + j) * n;
    return a[row + ((k + 1) & m)] + a[row + ((k - 1) & m)] + a[(i * n + ((j + 1) & m)) * n + k]
           + a[(i * n + ((j - 1) & m)) * n + k] + a[(((i + 1) & m) * n + j) * n + k]
           + a[(((i - 1) & m) * n + j) * n + k];
}

#define CUBE(n)                                                                                              \
    for (long i = 0; i < n; i++)                                                                             \
        for (long j = 0; j < n; j++)                                                                         \
            for (long k = 0; k < n; k++)

static void remainder_of(int level) {
    long n = side[level];
    const double *x = u[level], *b = v[level];
    CUBE(n) {
        long at = (i * n + j) * n + k;
        r[level][at] = b[at] - (6 * x[at] - around(x, n, i, j, k));
    }
}

static void smooth(int level) {
    long n = side[level];
    remainder_of(level);
    const double *a = r[level];
    CUBE(n) {
        long at = (i * n + j) * n + k;
        u[level][at] += 0.12 * a[at] + 0.01 * around(a, n, i, j, k);
    }
}

static void cycle(int level, int levels) {
    smooth(level);
    if (level + 1 == levels) return;
    remainder_of(level);
    long n = side[level], half = side[level + 1];
    CUBE(half) {
        double sum = 0;
        for (int corner = 0; corner < 8; corner++)
            sum += r[level][((2 * i + (corner & 1)) * n + 2 * j + (corner >> 1 & 1)) * n + 2 * k + (corner >> 2)];
        v[level + 1][(i * half + j) * half + k] = sum / 2;
        u[level + 1][(i * half + j) * half + k] = 0;
    }
    cycle(level + 1, levels);
    CUBE(n) u[level][(i * n + j) * n + k] += u[level + 1][(i / 2 * half + j / 2) * half + k / 2];
    smooth(level);
}

static double length(const double *a, long n) {
    double sum = 0;
    for (long i = 0; i < n * n * n; i++) sum += a[i] * a[i];
    return sqrt(sum);
}

int main(int count, char **arguments) {
    long n = count > 1 ? atol(arguments[1]) : 128;
    int cycles = count > 2 ? atoi(arguments[2]) : 2, levels = 0;
    if (n < 8 || n > 1024 || n & (n - 1) || cycles < 1) {
        fprintf(stderr, "usage: mg SIDE CYCLES, a side that is a power of two from 8 to 1024\n");
        return 2;
    }
    for (long m = n; m >= 4 && levels < MOST_LEVELS; m /= 2, levels++) {
        side[levels] = m;
        u[levels] = calloc(m * m * m, sizeof(double));
        v[levels] = calloc(m * m * m, sizeof(double));
        r[levels] = calloc(m * m * m, sizeof(double));
        if (!u[levels] || !v[levels] || !r[levels]) return 3;
    }
    // Charges of either sign at twenty places, which cancel.
    for (long charge = 0; charge < 20; charge++) {
        long at = charge * 7919 * 104729 % (n * n * n);
        v[0][at] += charge % 2 ? 1 : -1;
    }
    double before = length(v[0], n);
    for (int i = 0; i < cycles; i++) cycle(0, levels);
    remainder_of(0);
    double after = length(r[0], n), sum = 0;
    if (!(after < before / 2)) {
        fprintf(stderr, "mg: the remainder does not shrink\n");
        return 1;
    }
    for (long i = 0; i < n * n * n; i++) sum += u[0][i] * (i % 11);
    printf("checksum %.6e\n", sum);
    return 0;
}
