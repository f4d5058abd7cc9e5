#include "shared.h"
#include <stdio.h>
int one(int);
int main(int count, char **arguments) {
  printf("%d %s\n", one(20), count > 1 ? arguments[1] : GREETING);
  return 0;
}
