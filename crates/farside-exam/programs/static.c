// Linked statically: nothing can be put under it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    char *p = malloc(1 << 20);
    memset(p, 'x', 1 << 20);
    printf("%c\n", p[4711]);
    free(p);
    return 0;
}
