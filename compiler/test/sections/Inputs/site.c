#include <stdlib.h>

void *plain(void) {
  /* nothing here */
  return malloc(10);
}
void *aligned(void) { return aligned_alloc(64, 640); }
