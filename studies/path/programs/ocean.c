// Currents in a square basin of two layers, like the ocean simulations of the Splash suite: in each time step
// sweeps with five-point stencils over some twenty grids, and two elliptic equations solved by multigrid.
// Usage: ocean CELLS STEPS (a power of two). Prints a checksum of the stream functions.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_LEVELS = 8, CYCLES = 2 };

// Grids; those with layers take two numbers.
enum { PSI, PSI_BEFORE = 2, LAPLACE = 4, DOUBLE = 6, TRIPLE = 8, JACOBI = 10, FRICTION = 12, FORCE = 14,
       DIFFERENCE = 16, BEFORE, RIGHT, RIGHT_TOO, GAMMA, GAMMA_TOO, WIND, GRIDS };

static long n;
static double *grid[GRIDS];
// Unknown and right hand side of each coarser level.
static double *coarse[MOST_LEVELS], *coarse_right[MOST_LEVELS];
static long side[MOST_LEVELS];

#define SWEEP(to, f)                                                                                         \
    for (long i = 1; i < n; i++)                                                                             \
        for (long j = 1; j < n; j++) grid[to][i * (n + 1) + j] = (f)
#define AT(g) grid[g][i * (n + 1) + j]

static double around(const double *a, long row, long at) {
    return a[at - 1] + a[at + 1] + a[at - row] + a[at + row];
}

static double laplacian(int g, long i, long j) {
    return around(grid[g], n + 1, i * (n + 1) + j) - 4 * AT(g);
}

static double jacobian(int g, int h, long i, long j) {
    const double *a = grid[g], *b = grid[h];
    long row = n + 1, at = i * row + j;
    return ((a[at + row] - a[at - row]) * (b[at + 1] - b[at - 1])
            - (a[at + 1] - a[at - 1]) * (b[at + row] - b[at - row])) / 4;
}

// One sweep of red-black relaxation of the equation "Laplacian of u = b".
static void relax(double *u, const double *b, long m) {
    long row = m + 1;
    for (long colour = 0; colour < 2; colour++)
        for (long i = 1; i < m; i++)
            for (long j = 1 + (i + colour) % 2; j < m; j += 2)
                u[i * row + j] = (around(u, row, i * row + j) - b[i * row + j]) / 4;
}

static void solve(double *u, const double *b, int level) {
    long m = side[level], half = m / 2;
    relax(u, b, m);
    if (level + 1 < MOST_LEVELS && half >= 4) {
        double *v = coarse[level + 1], *c = coarse_right[level + 1];
        for (long i = 1; i < half; i++)
            for (long j = 1; j < half; j++) {
                long at = 2 * i * (m + 1) + 2 * j;
                c[i * (half + 1) + j] = 4 * (b[at] - around(u, m + 1, at) + 4 * u[at]) / 2;
                v[i * (half + 1) + j] = 0;
            }
        solve(v, c, level + 1);
        for (long i = 1; i < m; i++)
            for (long j = 1; j < m; j++) u[i * (m + 1) + j] += v[i / 2 * (half + 1) + j / 2];
    }
    relax(u, b, m);
}

static void step(void) {
    for (int l = 0; l < 2; l++) SWEEP(LAPLACE + l, laplacian(PSI_BEFORE + l, i, j));
    SWEEP(DIFFERENCE, AT(PSI) - AT(PSI + 1));
    SWEEP(BEFORE, AT(PSI_BEFORE) - AT(PSI_BEFORE + 1));
    for (int l = 0; l < 2; l++) SWEEP(DOUBLE + l, laplacian(LAPLACE + l, i, j));
    for (int l = 0; l < 2; l++) SWEEP(TRIPLE + l, laplacian(DOUBLE + l, i, j));
    for (int l = 0; l < 2; l++) SWEEP(JACOBI + l, jacobian(PSI + l, LAPLACE + l, i, j));
    SWEEP(RIGHT, jacobian(DIFFERENCE, BEFORE, i, j));
    for (int l = 0; l < 2; l++) SWEEP(FRICTION + l, 0.01 * AT(DOUBLE + l) - 0.001 * AT(TRIPLE + l));
    for (int l = 0; l < 2; l++) SWEEP(FORCE + l, AT(FRICTION + l) - AT(JACOBI + l) + (l ? 0 : AT(WIND)));
    SWEEP(RIGHT_TOO, AT(FORCE) - AT(FORCE + 1) + 0.1 * AT(RIGHT));
    SWEEP(RIGHT, (AT(FORCE) + AT(FORCE + 1)) / 2);
    for (int cycle = 0; cycle < CYCLES; cycle++) solve(grid[GAMMA], grid[RIGHT], 0);
    for (int cycle = 0; cycle < CYCLES; cycle++) solve(grid[GAMMA_TOO], grid[RIGHT_TOO], 0);
    for (int l = 0; l < 2; l++) SWEEP(PSI_BEFORE + l, AT(PSI + l));
    SWEEP(PSI, AT(PSI) + 0.01 * (AT(GAMMA) + AT(GAMMA_TOO) / 2));
    SWEEP(PSI + 1, AT(PSI + 1) + 0.01 * (AT(GAMMA) - AT(GAMMA_TOO) / 2));
}

int main(int count, char **arguments) {
    n = count > 1 ? atol(arguments[1]) : 512;
    int steps = count > 2 ? atoi(arguments[2]) : 6;
    if (n < 8 || n > 8192 || n & (n - 1) || steps < 1) {
        fprintf(stderr, "usage: ocean CELLS STEPS, a power of two from 8 to 8192 cells a side\n");
        return 2;
    }
    for (int g = 0; g < GRIDS; g++)
        if (!(grid[g] = calloc((n + 1) * (n + 1), sizeof(double)))) return 3;
    long m = n;
    for (int level = 0; level < MOST_LEVELS; level++, m /= 2) {
        side[level] = m;
        coarse[level] = level ? calloc((m + 1) * (m + 1), sizeof(double)) : NULL;
        coarse_right[level] = level ? calloc((m + 1) * (m + 1), sizeof(double)) : NULL;
        if (level && (!coarse[level] || !coarse_right[level])) return 3;
    }
    SWEEP(WIND, -1e-3 * cos(3.14159265358979 * i / n));
    double sum = 0, most = 0;
    for (int s = 0; s < steps; s++) step();
    for (long i = 1; i < n; i++)
        for (long j = 1; j < n; j++) {
            sum += AT(PSI) * ((i + 2 * j) % 9) + AT(PSI + 1) * ((2 * i + j) % 7);
            most = fmax(most, fabs(AT(PSI)));
        }
    // The wind must have moved something, and nothing may have run away.
    if (!(most > 1e-6 && most < 1)) {
        fprintf(stderr, "ocean: the currents are wrong: %g\n", most);
        return 1;
    }
    printf("checksum %.6e\n", sum);
    return 0;
}
