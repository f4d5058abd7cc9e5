/* Goes through an array of lines, from its end to its begin, again and again, and reads the text that each points to. The
 * array is small; the texts lie on a page each, in an order by chance. Writes what it read.
 *
 * usage: texts COUNT ROUNDS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

struct line {
    char *text;
    size_t length;
    char *begin, *end;
};

static unsigned long state = 1;

static unsigned long draw(void)
{
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return state >> 33;
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 3000;
    size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 4;
    char *texts = malloc(count * PAGE);
    struct line *lines = malloc(count * sizeof *lines);
    if (texts == NULL || lines == NULL) {
        return 1;
    }
    for (size_t i = 0; i < count; i++) {
        char *text = texts + i * PAGE + draw() % 3000;
        memset(text, 'a' + i % 26, 40);
        lines[i] = (struct line){text, 40, NULL, NULL};
    }
    for (size_t i = count - 1; i > 0; i--) {
        size_t other = draw() % (i + 1);
        struct line line = lines[i];
        lines[i] = lines[other];
        lines[other] = line;
    }
    unsigned long sum = 0;
    for (size_t round = 0; round < rounds; round++) {
        for (size_t i = count; i-- > 0;) {
            for (size_t at = 0; at < lines[i].length; at++) {
                sum = sum * 31 + (unsigned char)lines[i].text[at];
            }
        }
    }
    printf("%lx\n", sum);
    return 0;
}
