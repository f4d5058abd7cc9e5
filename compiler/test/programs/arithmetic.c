// RUN: %same %s -lm
// RUN: %lifted %s -lm
// Numbers of all kinds: wide integers, complex and long double, bit fields, vectors, conversions that wrap.
#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>

struct packed {
  unsigned a : 3;
  signed b : 5;
  unsigned long c : 40;
  _Bool d : 1;
} __attribute__((packed));

typedef int v4 __attribute__((vector_size(16)));
typedef float f8 __attribute__((vector_size(32)));

__attribute__((noinline)) static __int128 wide(int64_t a, int64_t b) { return (__int128)a * b - (a >> 3); }

__attribute__((noinline)) static double _Complex turn(double _Complex z, int n) {
  while (n-- > 0)
    z = z * (0.6 + 0.8 * I) + 0.125;
  return z;
}

__attribute__((noinline)) static long double root(long double x) { return sqrtl(x) * 3.25L - x / 7.0L; }

__attribute__((noinline)) static v4 shuffle(v4 a, v4 b) {
  v4 sum = a * b + (a > b);
  return __builtin_shufflevector(sum, b, 0, 5, 2, 7);
}

__attribute__((noinline)) static f8 scale(f8 a, float by) {
  for (int i = 0; i < 8; i += 3)
    a[i] += by;
  return a * by;
}

static uint32_t mix(uint32_t x) {
  for (int i = 0; i < 40; i++)
    x = (x << (i % 31 + 1) | x >> (31 - i % 31)) ^ (x * 2654435761u + (uint8_t)x);
  return x;
}

int main(void) {
  __int128 w = wide(0x7fffffffffffffff, -12345678901);
  printf("%llx %llx\n", (unsigned long long)(w >> 64), (unsigned long long)w);
  double _Complex z = turn(1.5 - 2.5 * I, 9);
  printf("%.12g %.12g\n", creal(z), cimag(z));
  printf("%.15Lg %.15Lg\n", root(2.0L), root(1e300L));
  struct packed p = {.a = 9, .b = -7, .c = 0xfedcba9876543210, .d = 3};
  p.b += 11, p.c ^= p.a;
  printf("%u %d %llx %d %zu\n", p.a, p.b, (unsigned long long)p.c, p.d, sizeof p);
  v4 s = shuffle((v4){1, -2, 3, -4}, (v4){5, 6, -7, 8});
  printf("%d %d %d %d\n", s[0], s[1], s[2], s[3]);
  f8 f = scale((f8){1, 2, 3, 4, 5, 6, 7, 8}, 0.5f);
  for (int i = 0; i < 8; i++)
    printf("%g ", f[i]);
  printf("\n%08x %08x\n", mix(1), mix(0xdeadbeef));
  printf("%d %u %d\n", (int8_t)300, (uint16_t)-1, (int)(float)16777217);
  printf("%d %d %g\n", __builtin_clz(77), __builtin_popcountll(~0ull << 9), fma(1.5, 2.5, -3.0));
  int overflow;
  printf("%d %d\n", __builtin_mul_overflow(1 << 20, 1 << 14, &overflow), overflow);
  return (int)(w & 63);
}
