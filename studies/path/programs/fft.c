// Six-step FFT of n = 4^k complex numbers: rows of a square matrix, transposed three times.
// Usage: fft LOG2_POINTS ROUNDS (an even logarithm). Transforms a fixed input and back as often as told, and
// prints a checksum of the last transform.
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef double complex number;

static const double TURN = 6.283185307179586476925;
enum { BLOCK = 8 };

// One transform of m points in place: radix 2, decimation in time. `roots` are the m-th roots of unity.
static void transform(number *row, long m, const number *roots) {
    for (long i = 1, j = 0; i < m; i++) {
        long bit = m >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) {
            number held = row[i];
            row[i] = row[j];
            row[j] = held;
        }
    }
    for (long half = 1; half < m; half *= 2) {
        long step = m / (2 * half);
        for (long first = 0; first < m; first += 2 * half)
            for (long k = 0; k < half; k++) {
                number *a = &row[first + k], *b = a + half;
                double re = creal(roots[k * step]), im = cimag(roots[k * step]);
                number t = CMPLX(re * creal(*b) - im * cimag(*b), re * cimag(*b) + im * creal(*b));
                *b = *a - t;
                *a += t;
            }
    }
}

static void transpose(number *to, const number *from, long m) {
    for (long i = 0; i < m; i += BLOCK)
        for (long j = 0; j < m; j += BLOCK)
            for (long a = i; a < i + BLOCK; a++)
                for (long b = j; b < j + BLOCK; b++) to[b * m + a] = from[a * m + b];
}

// y = transform of x; x is used as room. `twiddles` is the matrix of the n-th roots to the power of row times
// column.
static void fft(number *y, number *x, const number *twiddles, const number *roots, long m) {
    transpose(y, x, m);
    for (long i = 0; i < m; i++) {
        transform(&y[i * m], m, roots);
        for (long j = 0; j < m; j++) {
            number w = twiddles[i * m + j], v = y[i * m + j];
            y[i * m + j] = CMPLX(creal(v) * creal(w) - cimag(v) * cimag(w),
                                 creal(v) * cimag(w) + cimag(v) * creal(w));
        }
    }
    transpose(x, y, m);
    for (long i = 0; i < m; i++) transform(&x[i * m], m, roots);
    transpose(y, x, m);
}

static number point(long i) {
    return CMPLX(i * 37 % 101 / 101.0, i * 11 % 59 / 59.0);
}

int main(int count, char **arguments) {
    int log2 = count > 1 ? atoi(arguments[1]) : 20, rounds = count > 2 ? atoi(arguments[2]) : 2;
    if (log2 < 6 || log2 > 26 || log2 % 2 || rounds < 1) {
        fprintf(stderr, "usage: fft LOG2_POINTS ROUNDS, an even logarithm from 6 to 26\n");
        return 2;
    }
    long n = 1L << log2, m = 1L << (log2 / 2);
    number *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y), *twiddles = malloc(n * sizeof *twiddles);
    number *roots = malloc(m * sizeof *roots);
    if (!x || !y || !twiddles || !roots) return 3;
    for (long i = 0; i < n; i++) {
        double angle = TURN * (i / m * (i % m) % n) / n;
        x[i] = point(i);
        twiddles[i] = CMPLX(cos(angle), -sin(angle));
    }
    for (long i = 0; i < m; i++) roots[i] = CMPLX(cos(TURN * i / m), -sin(TURN * i / m));
    double sum = 0, wrong = 0;
    for (int round = 0; round < rounds; round++) {
        fft(y, x, twiddles, roots, m);
        sum = 0;
        for (long i = 0; i < n; i++) {
            sum += creal(y[i]) * (i % 7) + cimag(y[i]) * (i % 5);
            // Transforming the conjugate is transforming back.
            y[i] = CMPLX(creal(y[i]), -cimag(y[i]));
        }
        fft(x, y, twiddles, roots, m);
        for (long i = 0; i < n; i++) x[i] = CMPLX(creal(x[i]) / n, -cimag(x[i]) / n);
    }
    for (long i = 0; i < n; i++) wrong = fmax(wrong, cabs(x[i] - point(i)));
    if (wrong > 1e-9) {
        fprintf(stderr, "fft: there and back is somewhere else\n");
        return 1;
    }
    printf("checksum %.6e\n", sum);
    return 0;
}
