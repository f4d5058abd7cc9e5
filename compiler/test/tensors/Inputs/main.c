#include <stdio.h>

void scale(const float *x, float *result);

int main(void) {
  const float x[4] = {1, 2, 3, 4};
  float y[4];
  scale(x, y);
  printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);
  return 0;
}
