// Conjugate gradients on a sparse symmetric matrix with random places, like CG of the NAS suite.
// Usage: cg ROWS ITERATIONS. Prints a checksum of the solution.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { EACH = 9 };

static uint64_t state = 1;

static uint64_t below(uint64_t end) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % end;
}

struct matrix {
    long rows, *start;
    int *column;
    double *value;
};

// A = I n + B + B^T, where B has EACH entries in a row at random places.
static int make(struct matrix *a, long rows) {
    int *other = malloc(rows * EACH * sizeof *other);
    a->rows = rows;
    a->start = calloc(rows + 2, sizeof *a->start);
    a->column = malloc(rows * (2 * EACH + 1) * sizeof *a->column);
    a->value = malloc(rows * (2 * EACH + 1) * sizeof *a->value);
    if (!other || !a->start || !a->column || !a->value) return 0;
    long *fill = a->start + 1;
    for (long i = 0; i < rows; i++) {
        fill[i + 1] += EACH + 1;
        for (int k = 0; k < EACH; k++) {
            other[i * EACH + k] = below(rows);
            fill[other[i * EACH + k] + 1]++;
        }
    }
    for (long i = 1; i <= rows; i++) fill[i] += fill[i - 1];
    for (long i = 0; i < rows; i++) {
        a->column[fill[i]] = i;
        a->value[fill[i]++] = 2 * EACH + 2;
    }
    for (long i = 0; i < rows; i++)
        for (int k = 0; k < EACH; k++) {
            long j = other[i * EACH + k];
            a->column[fill[i]] = j;
            a->value[fill[i]++] = -0.5;
            a->column[fill[j]] = i;
            a->value[fill[j]++] = -0.5;
        }
    free(other);
    return 1;
}

static void multiply(const struct matrix *a, double *y, const double *x) {
    for (long i = 0; i < a->rows; i++) {
        double sum = 0;
        for (long k = a->start[i]; k < a->start[i + 1]; k++) sum += a->value[k] * x[a->column[k]];
        y[i] = sum;
    }
}

static double dot(const double *a, const double *b, long n) {
    double sum = 0;
    for (long i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

int main(int count, char **arguments) {
    long n = count > 1 ? atol(arguments[1]) : 120000;
    int iterations = count > 2 ? atoi(arguments[2]) : 6;
    struct matrix a;
    if (n < 16 || n > 1L << 26 || iterations < 1) {
        fprintf(stderr, "usage: cg ROWS ITERATIONS, from 16 to 2^26 rows\n");
        return 2;
    }
    double *x = calloc(n, sizeof *x), *r = malloc(n * sizeof *r), *p = malloc(n * sizeof *p);
    double *q = malloc(n * sizeof *q);
    if (!x || !r || !p || !q || !make(&a, n)) return 3;
    for (long i = 0; i < n; i++) r[i] = p[i] = 1 + i % 10 / 10.0;
    double rho = dot(r, r, n), first = rho;
    for (int iteration = 0; iteration < iterations; iteration++) {
        multiply(&a, q, p);
        double alpha = rho / dot(p, q, n), old = rho;
        for (long i = 0; i < n; i++) x[i] += alpha * p[i];
        for (long i = 0; i < n; i++) r[i] -= alpha * q[i];
        rho = dot(r, r, n);
        for (long i = 0; i < n; i++) p[i] = r[i] + rho / old * p[i];
    }
    // What is left over must be what the matrix says, and less than at first.
    multiply(&a, q, x);
    double left = 0, sum = 0;
    for (long i = 0; i < n; i++) {
        double by = 1 + i % 10 / 10.0 - q[i];
        left += by * by;
        sum += x[i] * (i % 17);
    }
    if (!(left < first / 4) || fabs(left - rho) > 1e-6 * first) {
        fprintf(stderr, "cg: this is no solution\n");
        return 1;
    }
    printf("checksum %.6e\n", sum);
    return 0;
}
