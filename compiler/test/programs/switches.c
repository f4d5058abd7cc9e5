// RUN: %same %s
// RUN: %lifted %s
// Switches of all widths: no bit of what they are of is lost, and none is made up.
#include <stdint.h>
#include <stdio.h>

static int said;

__attribute__((noinline)) static void say(int what) { said = said * 10 + what; }

#define SWITCH(name, type, first, second, third)                                                                       \
  __attribute__((noinline)) static int name(type value) {                                                              \
    switch (value) {                                                                                                   \
    case first:                                                                                                        \
      say(1);                                                                                                          \
      return 3;                                                                                                        \
    case second:                                                                                                       \
      say(2);                                                                                                          \
      break;                                                                                                           \
    case third:                                                                                                        \
      say(3);                                                                                                          \
      return 5;                                                                                                        \
    default:                                                                                                           \
      say(4);                                                                                                          \
      return 7;                                                                                                        \
    }                                                                                                                  \
    return said;                                                                                                       \
  }

SWITCH(small, long long, 0, 1, 7)
SWITCH(large, unsigned long long, 1ULL << 32, 0x7fffffffffffffff, 0xffffffffffffffff)
SWITCH(negative, int64_t, -1, INT64_MIN, -(1LL << 40))
SWITCH(word, int32_t, -1, INT32_MIN, 5)
SWITCH(half, int16_t, -1, INT16_MIN, 5)
SWITCH(byte, signed char, -1, -128, 5)
SWITCH(positive, uint32_t, 0xffffffff, 0x80000000, 5)

int main(void) {
  static const int64_t values[] = {0,         1,          5,          7,          -1,        -128,
                                   -(1 << 15), 1LL << 32,  INT32_MIN,  INT64_MIN,  INT64_MAX, -(1LL << 40),
                                   0xffffffff, 0x80000000, 0x100000001, 0x100000007, 0xffffffffffff, 0x8000000000005};
  for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
    int64_t value = values[i];
    said = 0;
    int results[] = {small(value),          large((uint64_t)value),    negative(value),          word((int32_t)value),
                     half((int16_t)value),  byte((signed char)value),  positive((uint32_t)value)};
    printf("%lld:", (long long)value);
    for (unsigned j = 0; j < sizeof(results) / sizeof(results[0]); j++)
      printf(" %d", results[j]);
    printf(", %d\n", said);
  }
  return 0;
}
