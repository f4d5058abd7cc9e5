/* The product of two matrices: product SIZE. */
#include "measured.h"

static double *new_matrix(long size) {
    return there(calloc(size * size, sizeof(double)));
}

static void fill(double *matrix, long size, uint64_t state) {
    for (long i = 0; i < size * size; i++) matrix[i] = (double)(draw(&state) % 1000) / 8;
}

/* Row by row, so that all three are gone through as they lie in memory. */
static void multiply(double *c, const double *a, const double *b, long size) {
    for (long i = 0; i < size; i++)
        for (long k = 0; k < size; k++) {
            const double factor = a[i * size + k];
            for (long j = 0; j < size; j++) c[i * size + j] += factor * b[k * size + j];
        }
}

int main(int argc, char **argv) {
    long size = argument(argc, argv, 1, 1024);
    double *a = new_matrix(size), *b = new_matrix(size), *c = new_matrix(size);
    fill(a, size, 1);
    fill(b, size, 2);
    double begin = now();
    multiply(c, a, b, size);
    took(begin);
    double all = 0;
    for (long i = 0; i < size * size; i++) all = all / 2 + c[i];
    printf("%.6f %.6f\n", all, c[size + 1]);
    free(a);
    free(b);
    free(c);
    return 0;
}
