#ifndef GREETING
#define GREETING "none"
#endif
static inline int shared(int x) { return x * 2; }
