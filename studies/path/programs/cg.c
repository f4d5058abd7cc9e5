// Conjugate gradients on a sparse symmetric matrix with random places, like CG of the NAS suite.
// Usage: cg ROWS ITERATIONS (a prime number of rows). Prints a checksum of the solution.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { EACH = 18 };

struct matrix {
    long rows, *start;
    int *column;
    double *value;
};

// The diagonal, and EACH entries in a row i at c / i modulo the number of rows, a prime, for several c: places
// like random ones, and symmetric ones.
static int make(struct matrix *a, long rows) {
    long *inverse = malloc(rows * sizeof *inverse);
    a->rows = rows;
    a->start = malloc((rows + 1) * sizeof *a->start);
    a->column = malloc(rows * (EACH + 1) * sizeof *a->column);
    a->value = malloc(rows * (EACH + 1) * sizeof *a->value);
    if (!inverse || !a->start || !a->column || !a->value) return 0;
    inverse[0] = 0;
    inverse[1] = 1;
    for (long i = 2; i < rows; i++) inverse[i] = (rows - rows / i) * inverse[rows % i] % rows;
    long at = 0;
    for (long i = 0; i < rows; i++) {
        a->start[i] = at;
        a->column[at] = i;
        a->value[at++] = EACH + 2;
        for (long k = 0; i > 0 && k < EACH; k++) {
            a->column[at] = (7919 + 104729 * k) % rows * inverse[i] % rows;
            a->value[at++] = -0.5;
        }
    }
    a->start[rows] = at;
    free(inverse);
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
    long n = count > 1 ? atol(arguments[1]) : 100003;
    int iterations = count > 2 ? atoi(arguments[2]) : 4;
    struct matrix a;
    if (n < 16 || n > 1L << 26 || iterations < 1) {
        fprintf(stderr, "usage: cg ROWS ITERATIONS, a prime number of rows from 16 to 2^26\n");
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
