// LU factorisation by blocks of 16 x 16 without pivoting; the matrix is stored column by column, so
// that each column of a block lies on another page.
// Usage: lu_noncontiguous ORDER [STEPS] (a multiple of 16; blocks of columns to factorise, all unless told
// otherwise). Prints a checksum of the matrix.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 16 };

static double *matrix;
static long n;

static double *element(long row, long column) {
    return &matrix[row + column * n];
}

// Element (0, 0) of a block; the next column of the block is LEADING further on.
static double *block(long row, long column) {
    return element(row * BLOCK, column * BLOCK);
}
#define LEADING n

// A = L U in place.
static void factor(double *a) {
    for (long k = 0; k < BLOCK; k++)
        for (long j = k + 1; j < BLOCK; j++) {
            a[j + k * LEADING] /= a[k + k * LEADING];
            for (long i = k + 1; i < BLOCK; i++)
                a[j + i * LEADING] -= a[j + k * LEADING] * a[k + i * LEADING];
        }
}

// B = B U^-1 for a block below the diagonal one.
static void divide(double *b, const double *diagonal) {
    for (long k = 0; k < BLOCK; k++)
        for (long i = 0; i < BLOCK; i++) {
            b[i + k * LEADING] /= diagonal[k + k * LEADING];
            for (long j = k + 1; j < BLOCK; j++)
                b[i + j * LEADING] -= b[i + k * LEADING] * diagonal[k + j * LEADING];
        }
}

// B = L^-1 B for a block right of the diagonal one.
static void modify_row(double *b, const double *diagonal) {
    for (long k = 0; k < BLOCK; k++)
        for (long j = 0; j < BLOCK; j++)
            for (long i = k + 1; i < BLOCK; i++)
                b[i + j * LEADING] -= diagonal[i + k * LEADING] * b[k + j * LEADING];
}

// C = C - A B, two columns of C and four of A at a time.
static void modify(double *restrict c, const double *restrict a, const double *restrict b) {
    for (long j = 0; j < BLOCK; j += 2)
        for (long k = 0; k < BLOCK; k += 4) {
            const double *x = &a[k * LEADING], *y = &b[k + j * LEADING], *z = y + LEADING;
            double y0 = y[0], y1 = y[1], y2 = y[2], y3 = y[3], z0 = z[0], z1 = z[1], z2 = z[2], z3 = z[3];
            double *left = &c[j * LEADING], *right = left + LEADING;
            for (long i = 0; i < BLOCK; i++) {
                double x0 = x[i], x1 = x[i + LEADING], x2 = x[i + 2 * LEADING], x3 = x[i + 3 * LEADING];
                left[i] -= x0 * y0 + x1 * y1 + x2 * y2 + x3 * y3;
                right[i] -= x0 * z0 + x1 * z1 + x2 * z2 + x3 * z3;
            }
        }
}

static void factorise(long blocks, long steps) {
    for (long k = 0; k < steps; k++) {
        double *diagonal = block(k, k);
        factor(diagonal);
        for (long i = k + 1; i < blocks; i++) divide(block(i, k), diagonal);
        for (long j = k + 1; j < blocks; j++) modify_row(block(k, j), diagonal);
        // Along a row of blocks, then along the next.
        for (long i = k + 1; i < blocks; i++)
            for (long j = k + 1; j < blocks; j++) modify(block(i, j), block(i, k), block(k, j));
    }
}

static double original(long row, long column) {
    double noise = (row * 7919 + column * 104729) % 1009 / 1009.0;
    return row == column ? noise + n : noise;
}

// Element (row, row) of the original matrix, from the factors as far as there are any.
static double product(long row, long columns) {
    double sum = *element(row, row);
    for (long k = 0; k < row && k < columns; k++) sum += *element(row, k) * *element(k, row);
    return sum;
}

int main(int count, char **arguments) {
    n = count > 1 ? atol(arguments[1]) : 2048;
    long steps = count > 2 ? atol(arguments[2]) : n / BLOCK;
    if (n < BLOCK || n > 16384 || n % BLOCK || steps < 1 || steps > n / BLOCK) {
        fprintf(stderr, "usage: %s ORDER [STEPS], an order that is a multiple of 16\n", arguments[0]);
        return 2;
    }
    matrix = malloc(n * n * sizeof *matrix);
    if (!matrix) return 3;
    for (long j = 0; j < n; j++)
        for (long i = 0; i < n; i++) *element(i, j) = original(i, j);
    factorise(n / BLOCK, steps);
    for (long row = 0; row < n; row += n / BLOCK)
        if (fabs(product(row, steps * BLOCK) - original(row, row)) > 1e-8 * n) {
            fprintf(stderr, "lu: the factors do not make the matrix\n");
            return 1;
        }
    double sum = 0;
    for (long j = 0; j < n; j++) sum += *element(j, j) * (j % 13) + *element(n - 1, j);
    printf("checksum %.6e\n", sum);
    return 0;
}
