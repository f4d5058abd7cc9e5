#include <stdlib.h>

void *plain(void) {
  /* nothing here */
  return malloc(10);
}
void *paged(void) { return valloc(640); }
