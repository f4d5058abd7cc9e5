#include <stdlib.h>
struct pair {
  int first;
  double second[3];
};
static int inlined(struct pair *pair, int by) {
  int sum = pair->first + by;
  pair->first = sum;
  return sum;
}
int walk(struct pair *pairs, int count) {
  int total = 0;
  for (int i = 0; i < count; i++) {
    struct pair *at = &pairs[i];
    total += inlined(at, i);
    if (total > 1000)
      goto enough;
  }
enough:
  return total;
}
int main(void) {
  struct pair local[4] = {{1, {2, 3, 4}}};
  return walk(local, 4) & rand();
}
