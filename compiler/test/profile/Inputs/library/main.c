#include <stdio.h>
long work(long count);
int main(void) {
  long sum = 0;
  for (int i = 0; i < 100; i++)
    sum += work(i);
  printf("%ld\n", sum);
  return 0;
}
