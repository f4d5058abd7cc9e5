/* Uses a section in what is C of all kinds, and C++. */
#include <farside/section.h>

#include <stdio.h>

int main(void) {
    struct farside_section section;
    struct farside_section_options how = {"exam", 8192, 128, 2, 1, 0};
    unsigned i, sum = 0;
    farside_ptr words;
    if (farside_section_open(&section, &how) != 0) return 1;
    words = farside_section_alloc(&section, 10000 * sizeof(unsigned), 64);
    for (i = 0; i < 10000; i++) farside_set(unsigned, &section, words + i * sizeof(unsigned), i);
    for (i = 0; i < 10000; i++) sum = sum * 31 + farside_get(unsigned, &section, words + i * sizeof(unsigned));
    farside_section_free(words);
    farside_section_close(&section);
    printf("%u\n", sum);
    return 0;
}
