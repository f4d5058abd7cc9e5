/*
 * Simulated annealing that places a netlist on a chip: `anneal ELEMENTS MOVES`, with the structure and the moves of canneal.
 *
 * All elements lie in one array, in the order in which the netlist names them first; each has two lists of pointers, to
 * those that lead into it and those that it leads to, which grow as vectors do, and a pointer to its place on the chip.
 * Every element has five others by chance leading into it, as in canneal's inputs. Half as many moves as MOVES warm up; then,
 * which is measured, MOVES are made: the element of the last one and another by chance change places, if that makes wires
 * shorter, or, by chance, if it does not; the lengths are those of all wires in both lists of both.
 */
#include "part.h"

#include <math.h>

enum { INTO = 5, PER_STEP = 15000 };

struct element;

/* Pointers to elements. */
struct list {
    struct element **first, **end, **room;
};

struct place {
    int32_t x, y;
};

struct element {
    struct list into, from;
    struct place *place;
    char name[32];
};

static struct element *elements;
static uint32_t count_of_elements;

/* A list that is being thought out: its memory is allocated, but not written. */
struct draft {
    struct element **block;
    uint32_t len, room;
    /* Where the numbers of its elements are. */
    uint64_t at;
};

/* Grows as a vector does when one more is put in. */
static void grow(struct draft *draft) {
    if (draft->len++ < draft->room) return;
    const uint32_t room = draft->room ? 2 * draft->room : 1;
    struct element **block = allocate(room * sizeof *block);
    free(draft->block);
    draft->block = block;
    draft->room = room;
}

static int by_address(const void *a, const void *b) {
    const struct draft *x = *(struct draft *const *)a, *y = *(struct draft *const *)b;
    return (x->block > y->block) - (x->block < y->block);
}

/* Writes the lists in the order in which they lie. */
static void write_lists(struct draft *drafts, const uint32_t *numbers) {
    const size_t count = 2 * (size_t)count_of_elements;
    struct draft **sorted = local_memory(count * sizeof *sorted);
    for (size_t i = 0; i < count; i++) sorted[i] = &drafts[i];
    qsort(sorted, count, sizeof *sorted, by_address);
    for (size_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < sorted[i]->len; j++) sorted[i]->block[j] = &elements[numbers[sorted[i]->at + j]];
    free_local(sorted, count * sizeof *sorted);
}

static struct list list_of(const struct draft *draft) {
    return (struct list){ draft->block, draft->block + draft->len, draft->block + draft->room };
}

/* Number of the element that a line of the netlist names; they are counted as they are named. */
static uint32_t named(uint32_t *numbers, uint32_t *used, uint32_t name) {
    if (numbers[name] == 0) numbers[name] = ++*used;
    return numbers[name] - 1;
}

static void build(uint32_t side) {
    const size_t n = count_of_elements, wires = n * INTO;
    uint64_t state = 1;
    elements = allocate((size_t)side * side * sizeof *elements);
    struct place *places = allocate((size_t)side * side * sizeof *places);
    /* The netlist, line by line: an element, and those that lead into it. */
    uint32_t *numbers = local_memory(n * sizeof *numbers), used = 0;
    uint32_t *line = local_memory(n * sizeof *line), *source = local_memory(wires * sizeof *source);
    struct draft *drafts = local_memory(2 * n * sizeof *drafts);
    for (uint32_t i = 0; i < n; i++) {
        line[i] = named(numbers, &used, i);
        for (int j = 0; j < INTO; j++) {
            source[i * (size_t)INTO + j] = named(numbers, &used, draw_below(&state, n));
            grow(&drafts[2 * line[i]]);
            grow(&drafts[2 * source[i * (size_t)INTO + j] + 1]);
        }
    }
    uint32_t *wired = local_memory(2 * wires * sizeof *wired);
    uint64_t at = 0;
    for (size_t i = 0; i < 2 * n; at += drafts[i++].len) drafts[i].at = at;
    uint32_t *filled = local_memory(2 * n * sizeof *filled);
    for (size_t wire = 0; wire < wires; wire++) {
        const uint32_t to = line[wire / INTO], from = source[wire];
        wired[drafts[2 * to].at + filled[2 * to]++] = from;
        wired[drafts[2 * from + 1].at + filled[2 * from + 1]++] = to;
    }
    /* Places on the chip are dealt out by chance. */
    uint32_t *dealt = local_memory(n * sizeof *dealt);
    for (uint32_t i = 0; i < n; i++) dealt[i] = i;
    shuffle(dealt, n, &state);
    for (size_t i = 0; i < (size_t)side * side; i++) places[i] = (struct place){ i / side, i % side };
    for (uint32_t i = 0; i < n; i++) {
        elements[i] = (struct element){ list_of(&drafts[2 * i]), list_of(&drafts[2 * i + 1]), &places[dealt[i]], "" };
        snprintf(elements[i].name, sizeof elements[i].name, "%x", i);
    }
    write_lists(drafts, wired);
    free_local(dealt, n * sizeof *dealt);
    free_local(filled, 2 * n * sizeof *filled);
    free_local(wired, 2 * wires * sizeof *wired);
    free_local(drafts, 2 * n * sizeof *drafts);
    free_local(source, wires * sizeof *source);
    free_local(line, n * sizeof *line);
    free_local(numbers, n * sizeof *numbers);
}

static int64_t distance(const struct place *a, const struct place *b) { return labs(a->x - b->x) + labs(a->y - b->y); }

/* How much longer the wires of a list become if their end moves. */
static int64_t longer(const struct list *list, const struct place *old, const struct place *new) {
    int64_t sum = 0;
    for (struct element **other = list->first; other < list->end; other++)
        sum += distance((*other)->place, new) - distance((*other)->place, old);
    return sum;
}

static int64_t cost_of_move(const struct element *element, const struct place *new) {
    return longer(&element->into, element->place, new) + longer(&element->from, element->place, new);
}

/* The temperature falls after so many moves; returns a number made of what was decided. */
static uint64_t anneal(uint64_t moves, uint64_t *state, double *temperature) {
    uint64_t sum = 0;
    struct element *a, *b = &elements[draw_below(state, count_of_elements)];
    for (uint64_t move = 0; move < moves; move++) {
        if (move % PER_STEP == 0) *temperature /= 1.5;
        a = b;
        do b = &elements[draw_below(state, count_of_elements)];
        while (b == a);
        const int64_t cost = cost_of_move(a, b->place) + cost_of_move(b, a->place);
        const double chance = (draw(state) >> 11) * 0x1p-53;
        if (cost < 0 || chance < exp(-cost / *temperature)) {
            struct place *place = a->place;
            a->place = b->place;
            b->place = place;
            sum += cost;
        }
        sum = sum * 31 + (uint64_t)cost;
    }
    return sum;
}

int main(int count, char **arguments) {
    count_of_elements = number(count, arguments, 1);
    const uint64_t moves = number(count, arguments, 2);
    if (count_of_elements < 2) fail("too few elements");
    build(ceil(sqrt(count_of_elements)));
    uint64_t state = 2;
    double temperature = 2000;
    uint64_t sum = anneal(moves / 2, &state, &temperature);
    const double begin = begin_part();
    sum += anneal(moves, &state, &temperature);
    end_part(begin);
    printf("%016llx\n", (unsigned long long)sum);
    return 0;
}
