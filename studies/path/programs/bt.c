// Alternating directions on a cube, like BT of the NAS suite: in each step a right hand side from a stencil,
// then a line solver along each of the three axes, for five coupled quantities at each point.
// Usage: bt SIDE STEPS. Prints a checksum of the solution.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { QUANTITIES = 5, MOST_SIDE = 256 };

static long n;
static double *u, *forcing, *rhs;

#define AT(a, i, j, k, q) a[((((i) * n) + (j)) * n + (k)) * QUANTITIES + (q)]

static void right_hand_side(void) {
    for (long i = 1; i < n - 1; i++)
        for (long j = 1; j < n - 1; j++)
            for (long k = 1; k < n - 1; k++)
                for (int q = 0; q < QUANTITIES; q++)
                    AT(rhs, i, j, k, q) =
                        AT(forcing, i, j, k, q)
                        + 0.1 * (AT(u, i - 1, j, k, q) + AT(u, i + 1, j, k, q) + AT(u, i, j - 1, k, q)
                                 + AT(u, i, j + 1, k, q) + AT(u, i, j, k - 1, q) + AT(u, i, j, k + 1, q)
                                 - 6 * AT(u, i, j, k, q))
                        + 0.01 * AT(u, i, j, k, (q + 1) % QUANTITIES);
}

// Solves (1 + 2c) x_i - c (x_{i-1} + x_{i+1}) = b_i on a line of points `stride` numbers apart.
static void solve_line(double *line, long stride) {
    static double factor[MOST_SIDE];
    const double c = 0.1, middle = 1 + 2 * c;
    factor[0] = 0;
    for (long i = 1; i < n - 1; i++) {
        double pivot = 1 / (middle - c * factor[i - 1]);
        factor[i] = c * pivot;
        for (int q = 0; q < QUANTITIES; q++) {
            double before = i > 1 ? line[(i - 1) * stride + q] : 0;
            line[i * stride + q] = (line[i * stride + q] + c * before) * pivot;
        }
    }
    for (long i = n - 3; i >= 1; i--)
        for (int q = 0; q < QUANTITIES; q++)
            line[i * stride + q] += factor[i] * line[(i + 1) * stride + q];
}

static void solve(void) {
    for (long a = 1; a < n - 1; a++)
        for (long b = 1; b < n - 1; b++) solve_line(&AT(rhs, 0, a, b, 0), n * n * QUANTITIES);
    for (long a = 1; a < n - 1; a++)
        for (long b = 1; b < n - 1; b++) solve_line(&AT(rhs, a, 0, b, 0), n * QUANTITIES);
    for (long a = 1; a < n - 1; a++)
        for (long b = 1; b < n - 1; b++) solve_line(&AT(rhs, a, b, 0, 0), QUANTITIES);
}

int main(int count, char **arguments) {
    n = count > 1 ? atol(arguments[1]) : 64;
    int steps = count > 2 ? atoi(arguments[2]) : 4;
    if (n < 5 || n > MOST_SIDE || steps < 1) {
        fprintf(stderr, "usage: bt SIDE STEPS, a side from 5 to 256\n");
        return 2;
    }
    long size = n * n * n * QUANTITIES;
    u = calloc(size, sizeof *u);
    forcing = calloc(size, sizeof *forcing);
    rhs = calloc(size, sizeof *rhs);
    if (!u || !forcing || !rhs) return 3;
    for (long i = 0; i < size; i++) forcing[i] = i % 97 / 97.0 - 0.5;
    double change = 0, first = 0, sum = 0;
    for (int step = 0; step < steps; step++) {
        right_hand_side();
        solve();
        change = 0;
        for (long i = 0; i < size; i++) {
            u[i] += rhs[i];
            change += rhs[i] * rhs[i];
        }
        if (step == 0) first = change;
    }
    // The scheme is stable: steps shrink.
    if (!(change > 0 && change <= first)) {
        fprintf(stderr, "bt: the steps grow\n");
        return 1;
    }
    for (long i = 0; i < size; i++) sum += u[i] * (i % 7);
    printf("checksum %.6e\n", sum);
    return 0;
}
