// RUN: %same %s
// RUN: %lifted %s
// A function that goes on in the middle of its loops where it stopped, with many values that it keeps meanwhile, as
// decompressors do. It is structured in seconds.
#include <stdio.h>

struct kept {
  int state;
  unsigned a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p;
};

struct source {
  const unsigned char *next;
  unsigned left;
};

// Each byte that is needed is a place to go on from.
#define BYTE(number, into)                                                                                             \
  case number:                                                                                                         \
    state = number;                                                                                                    \
    if (!from->left) goto out;                                                                                         \
    into = into * 31 + *from->next++;                                                                                  \
    --from->left;

// clang-format off
#define PART(first)                                                                                                    \
  BYTE(first + 0, a)                                                                                                   \
  BYTE(first + 1, b)                                                                                                   \
  for (i = 0; i < 5; ++i) {                                                                                            \
    BYTE(first + 2, c)                                                                                                 \
    if (c & 1) {                                                                                                       \
      for (j = 0; j < 3; ++j) {                                                                                        \
        BYTE(first + 3, d)                                                                                             \
        BYTE(first + 4, e)                                                                                             \
        d ^= e << 3;                                                                                                   \
      }                                                                                                                \
    } else {                                                                                                           \
      BYTE(first + 5, f)                                                                                               \
      f += c;                                                                                                          \
    }                                                                                                                  \
    while (k < 7) {                                                                                                    \
      BYTE(first + 6, g)                                                                                               \
      k += 1 + (g & 1);                                                                                                \
      if (g & 2) {                                                                                                     \
        BYTE(first + 7, h)                                                                                             \
        l += h;                                                                                                        \
        continue;                                                                                                      \
      }                                                                                                                \
      BYTE(first + 8, m)                                                                                               \
    }                                                                                                                  \
    k = 0;                                                                                                             \
  }                                                                                                                    \
  do {                                                                                                                 \
    BYTE(first + 9, n)                                                                                                 \
    for (o = 0; o < 4; ++o) {                                                                                          \
      BYTE(first + 10, p)                                                                                              \
      if (p & 4) break;                                                                                                \
      BYTE(first + 11, a)                                                                                              \
      n ^= a;                                                                                                          \
    }                                                                                                                  \
    BYTE(first + 12, b)                                                                                                \
  } while (n % 5);                                                                                                     \
  BYTE(first + 13, c)                                                                                                  \
  for (j = 0; j < 6; ++j) {                                                                                            \
    BYTE(first + 14, d)                                                                                                \
    if (d & 8) {                                                                                                       \
      BYTE(first + 15, e)                                                                                              \
      for (i = 0; i < 2; ++i) {                                                                                        \
        BYTE(first + 16, f)                                                                                            \
        m += f ^ e;                                                                                                    \
      }                                                                                                                \
    }                                                                                                                  \
  }
// clang-format on

static unsigned go_on(struct kept *kept, struct source *from) {
  int state = kept->state;
  unsigned a = kept->a, b = kept->b, c = kept->c, d = kept->d, e = kept->e, f = kept->f, g = kept->g, h = kept->h;
  unsigned i = kept->i, j = kept->j, k = kept->k, l = kept->l, m = kept->m, n = kept->n, o = kept->o, p = kept->p;
  switch (state) {
    PART(0) PART(20) PART(40)
  }
  state = 0;
out:
  *kept = (struct kept){state, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p};
  return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ i ^ j ^ k ^ l ^ m ^ n ^ o ^ p;
}

int main(void) {
  unsigned char bytes[4096];
  unsigned seed = 7, sum = 0;
  for (unsigned at = 0; at < sizeof bytes; ++at) {
    seed = seed * 1103515245 + 12345;
    bytes[at] = seed >> 16;
  }
  struct kept kept = {0};
  for (unsigned at = 0; at + 64 < sizeof bytes; at += 1 + at % 23) {
    struct source from = {bytes + at, 1 + at % 23};
    sum = sum * 31 + go_on(&kept, &from) + kept.state;
  }
  printf("%u\n", sum);
}
