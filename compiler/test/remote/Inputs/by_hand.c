// Calls what by_hand.mlir does with a section, which is opened as the compiler has it opened.
#include <farside/section.h>
#include <stdio.h>

enum { nodes = 2000, lines = 128 };

struct node {
    long value, next_value;
    struct node *next;
    long others[5];
};

extern const struct farside_section farside_rt_plain;
uint8_t farside_rt_open(struct farside_section *section, const struct farside_section_options *how, const void *table,
                        uint64_t count, uint64_t holds, uint64_t paged);
struct farside_section section __asm__("farside.section.nodes");

void *make(long size), *give_back(void *all);
void set(void *at, long value), want(void *at), want_all(void *at, long size), await(void *at);
void give_up(void *at, long size), copy_out(void *to, void *from, long size), copy_in(void *to, void *from, long size);
void clear(void *at, char byte, long size), send_for_next(void *at);
long get(void *at), add(void *at, long more), if_here(void *at, long otherwise), missing(void), sum(void *all, long count);
long exchange(void *at, long value);

__attribute__((constructor)) static void open_section(void) {
    const struct farside_section_options how = {"nodes", lines * 128, 128, 2};
    section = farside_rt_plain;
    farside_rt_open(&section, &how, 0, 0, 0, 0);
}

int main(void) {
    static struct node some[4];
    struct node *all = make(nodes * sizeof *all);
    long here = 0, total = 0;
    int i;
    // PLAIN: remote: 0
    // FAR: remote: 1
    printf("remote: %d\n", (uintptr_t)all >> FARSIDE_ID_SHIFT_ != 0);

    for (i = 0; i < nodes; i++) set(&all[i], i * 3);
    for (i = 0; i < nodes; i++) total += get(&all[(i * 7L) % nodes]) * (i % 5) + get(&all[i].next_value);
    // BOTH: translated: 17999000
    printf("translated: %ld\n", total);
    // There is room for 256 nodes. What is plain is always here.
    for (i = 0; i < nodes; i++) here += if_here(&all[i], -1) == i * 3;
    // PLAIN: here: 2000
    // FAR: here: {{[1-9][0-9]?[0-9]?$}}
    printf("here: %ld\n", here);

    // A loop that holds lines.
    // BOTH: summed: 5997000
    printf("summed: %ld\n", sum(all, nodes));

    // Lines of nodes that are not here are sent for and waited for, and are here then.
    for (i = 0, here = 0; i < 40; i += 4) {
        want(&all[i]);
        await(&all[i]);
        here += if_here(&all[i], -1) == i * 3;
    }
    // BOTH: waited for: 10
    printf("waited for: %ld\n", here);
    want_all(&all[100], 20 * sizeof *all);
    for (i = 100, here = 0; i < 120; i++) {
        await(&all[i]);
        here += if_here(&all[i], -1) == i * 3;
    }
    // BOTH: fetched: 20
    printf("fetched: %ld\n", here);
    // Waiting fetches what nobody has sent for.
    await(&all[777]);
    // BOTH: fetched by waiting: 2331
    printf("fetched by waiting: %ld\n", if_here(&all[777], -1));
    // An address is of what is here after it was asked for.
    // BOTH: added: 3701 3702
    printf("added: %ld %ld\n", add(&all[1200], 101), add(&all[1200], 1));

    // What was written and is given up is stored: it is what it was when it is fetched again.
    for (i = 0; i < nodes; i++) add(&all[i], 1);
    give_up(all, nodes * sizeof *all);
    // BOTH: given up: 5999102
    printf("given up: %ld\n", sum(all, nodes));

    // BOTH: exchanged: 16 5
    i = (int)exchange(&all[5], 5);
    printf("exchanged: %d %ld\n", i, get(&all[5]));
    copy_out(some, &all[3], sizeof some);
    // BOTH: copied out: 10 13 5 19
    printf("copied out: %ld %ld %ld %ld\n", some[0].value, some[1].value, some[2].value, some[3].value);
    some[2].value = 1000;
    copy_in(&all[1500], some, sizeof some);
    // BOTH: copied in: 10 1000
    printf("copied in: %ld %ld\n", get(&all[1500]), get(&all[1502]));
    clear(&all[1501], 1, sizeof *all * 2);
    // BOTH: cleared: 10 101010101010101 101010101010101 19
    printf("cleared: %ld %lx %lx %ld\n", get(&all[1500]), get(&all[1501]), get(&all[1502].others[4]), get(&all[1503]));

    // Something was missing lately, so that what a node leads to is sent for; nothing else comes of it.
    exchange(&all[20].next, (long)&all[1900]);
    for (i = 0; i < 1000; i++) get(&all[i]);
    get(&all[20].next);
    // PLAIN: missing: 0
    // FAR: missing: 1
    printf("missing: %ld\n", missing());
    send_for_next(&all[20].next);
    await(&all[1900]);
    // BOTH: led to: 5701
    printf("led to: %ld\n", if_here(&all[1900], -1));
    free(give_back(all));
    return 0;
}
