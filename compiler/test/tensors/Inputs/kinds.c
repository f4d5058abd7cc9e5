// Prints what is wrong with what the functions of kinds.mlir compute.
#include <math.h>
#include <stdint.h>
#include <stdio.h>

void convolution(const float *x, float *result);
void rows(const int64_t *ids, const float *table, float *result);
void errors(const float *x, float *result);
void same(const float *x, float *result);
void shares(const float *x, float *result);
void twice(float *x);
void inserted(const float *x, const float *y, float *result);
float second(int64_t n, const float *x);
void copied(const float *x, float *result);

static void check(const char *what, double given, double expected) {
  if (!(fabs(given - expected) < 1e-4)) printf("%s: %g and not %g\n", what, given, expected);
}

int main(void) {
  static float x[3200], y[2048], small[4] = {7, 8, 9, 10};
  const int64_t ids[8] = {5, 99, 0, 1, 2, 3, 4, 5};
  for (int i = 0; i < 3200; i++) x[i] = i % 13 * 0.1f;

  convolution(x, y);
  double sum = 0;
  for (int c = 0; c < 3; c++)
    for (int i = 0; i < 2; i++)
      for (int j = 0; j < 2; j++) sum += 0.5 * x[c * 256 + i * 16 + j];
  check("corner", y[0], sum);
  check("last channel", y[7 * 256], sum);

  rows(ids, x, y);
  check("row 5", y[3], x[5 * 32 + 3]);
  check("row 99", y[32 + 31], x[99 * 32 + 31]);

  errors(x, y);
  for (int i = 0; i < 32; i++) check("error function", y[i], erf(i % 13 * 0.1f));
  check("kept", x[5], 0.5);

  same(x, y);
  copied(x, y + 32);
  for (int i = 0; i < 64; i++) check("copy", y[i], x[i % 32]);

  shares(x, y);
  sum = 0;
  for (int i = 0; i < 16; i++) sum += y[16 + i];
  check("shares", sum, 1);
  check("ratio", y[1] / y[0], exp(0.1));

  inserted(x, small, y);
  check("inserted", y[9] + y[18], 17);
  check("around", y[0] + y[63], x[0] + x[63]);

  check("second", second(16, x), 0.1f);
  twice(x);
  check("twice", x[63], 2 * (63 % 13 * 0.1));
  printf("done\n");
  return 0;
}
