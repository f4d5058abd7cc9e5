// Simulated annealing of a placement, as canneal of Parsec: two elements are taken by a list of pointers, and change
// places if that makes the wires shorter, or by chance.
// Usage: anneal ELEMENTS. Prints the length of all wires.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIRES = 5, STEPS = 4, SIDE = 4096 };

struct place {
    int x, y;
};

struct element {
    struct element *wires[WIRES];
    struct place *place;
    char name[80];
};

static uint64_t state = 1;

static uint64_t next(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
}

static long length(const struct element *element, const struct place *from) {
    long sum = 0;
    for (int i = 0; i < WIRES; i++) {
        const struct place *to = element->wires[i]->place;
        sum += labs((long)from->x - to->x) + labs((long)from->y - to->y);
    }
    return sum;
}

static void swap(struct element *a, struct element *b) {
    struct place *held = a->place;
    a->place = b->place;
    b->place = held;
}

int main(int count, char **arguments) {
    long n = count > 1 ? atol(arguments[1]) : 200000;
    if (n < 2 || n > 1L << 26) {
        fprintf(stderr, "usage: anneal ELEMENTS, from 2 to 2^26\n");
        return 2;
    }
    struct element **elements = malloc(n * sizeof *elements);
    if (!elements) return 3;
    for (long i = 0; i < n; i++) {
        struct element *element = elements[i] = calloc(1, sizeof *element);
        struct place *place = malloc(sizeof *place);
        if (!element || !place) return 3;
        *place = (struct place){next() % SIDE, next() % SIDE};
        element->place = place;
        snprintf(element->name, sizeof element->name, "element %ld", i);
    }
    for (long i = 0; i < n; i++)
        for (int wire = 0; wire < WIRES; wire++) elements[i]->wires[wire] = elements[next() % n];
    for (int step = 0; step < STEPS; step++)
        for (long i = 0; i < n / 4; i++) {
            struct element *a = elements[next() % n], *b = elements[next() % n];
            long gain = length(a, a->place) + length(b, b->place);
            gain -= length(a, b->place) + length(b, a->place);
            if (gain > 0 || next() % 100 < 2) swap(a, b);
        }
    long sum = 0;
    for (long i = 0; i < n; i++) sum += length(elements[i], elements[i]->place);
    printf("length %ld\n", sum);
    return 0;
}
