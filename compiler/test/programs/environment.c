// RUN: %same %s -lm
// RUN: %lifted %s -lm
// Floating point that looks at its environment, and numbers that are none.
#include <fenv.h>
#include <math.h>
#include <stdio.h>

#pragma STDC FENV_ACCESS ON

__attribute__((noinline)) static double third(double x, int mode) {
  int before = fegetround();
  fesetround(mode);
  double y = x / 3.0;
  fesetround(before);
  return y;
}

__attribute__((noinline)) static int raised(double a, double b) {
  feclearexcept(FE_ALL_EXCEPT);
  volatile double c = a / b;
  (void)c;
  return fetestexcept(FE_DIVBYZERO) != 0;
}

int main(void) {
  printf("%a %a\n", third(1.0, FE_UPWARD), third(1.0, FE_DOWNWARD));
  printf("%d %d\n", raised(1, 0), raised(1, 2));
  double none = NAN;
  printf("%d %d %d\n", none == none, isnan(none), signbit(-0.0) != 0);
  printf("%g %g\n", fmin(none, 2), copysign(INFINITY, -1));
  return 0;
}
