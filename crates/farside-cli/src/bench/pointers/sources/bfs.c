/*
 * Breadth-first search on a power-law graph: `bfs FORM SCALE SEARCHES`, a Kronecker graph of 2^SCALE vertices and sixteen
 * edges for each, both ways, whose vertices are numbered by chance. FORM is
 *
 *   rows     compressed sparse rows, as in GAP: the numbers of all neighbours in one array, a pointer into it for each vertex,
 *            and an array of parents
 *   objects  an object for each vertex, with its parent and an array of pointers to its neighbours
 *
 * One search warms up; then, which is measured, SEARCHES begin at vertices by chance.
 */
#include "part.h"

enum { PER_VERTEX = 16 };

/* The graph as it is thought out. */
struct graph {
    uint32_t vertices;
    uint64_t edges;
    /* Where the neighbours of a vertex begin; and all neighbours. */
    uint64_t *begin;
    uint32_t *neighbours;
};

static void draw_edge(uint32_t scale, uint64_t *state, uint32_t *from, uint32_t *to) {
    *from = *to = 0;
    for (uint32_t bit = 0; bit < scale; bit++) {
        const double where = (draw(state) >> 11) * 0x1p-53;
        const int down = where >= 0.57 + 0.19, right = down ? where >= 0.95 : where >= 0.57;
        *from = *from * 2 + down;
        *to = *to * 2 + right;
    }
}

static struct graph generate(uint32_t scale) {
    const uint32_t vertices = 1u << scale;
    const uint64_t drawn = (uint64_t)vertices * PER_VERTEX;
    struct graph graph = { vertices, 2 * drawn, local_memory((vertices + 1ul) * 8), local_memory(2 * drawn * 4) };
    uint32_t *ends = local_memory(2 * drawn * 4), *name = local_memory(vertices * 4ul);
    uint64_t *next = local_memory(vertices * 8ul), state = 1;
    for (uint32_t i = 0; i < vertices; i++) name[i] = i;
    shuffle(name, vertices, &state);
    for (uint64_t i = 0; i < drawn; i++) {
        draw_edge(scale, &state, &ends[2 * i], &ends[2 * i + 1]);
        for (int end = 0; end < 2; end++) graph.begin[1 + (ends[2 * i + end] = name[ends[2 * i + end]])]++;
    }
    for (uint32_t i = 0; i < vertices; i++) next[i] = graph.begin[i], graph.begin[i + 1] += graph.begin[i];
    for (uint64_t i = 0; i < 2 * drawn; i++) graph.neighbours[next[ends[i]]++] = ends[i ^ 1];
    free_local(ends, 2 * drawn * 4);
    free_local(name, vertices * 4ul);
    free_local(next, vertices * 8ul);
    return graph;
}

static void forget(struct graph *graph) {
    free_local(graph->begin, (graph->vertices + 1ul) * 8);
    free_local(graph->neighbours, graph->edges * 4);
}

/* The vertices where searches begin, each with neighbours. */
static uint32_t *sources_of(const struct graph *graph, uint64_t searches) {
    uint64_t state = 2;
    uint32_t *sources = local_memory((searches + 1) * sizeof *sources);
    for (uint64_t i = 0; i <= searches; i++)
        do sources[i] = draw_below(&state, graph->vertices);
        while (graph->begin[sources[i]] == graph->begin[sources[i] + 1]);
    return sources;
}

/* Compressed sparse rows. */
static struct {
    uint32_t vertices;
    uint32_t **row;
    uint32_t *parent, *queue;
} rows;

static void write_rows(const struct graph *graph) {
    uint32_t *neighbours = allocate(graph->edges * sizeof *neighbours);
    rows.vertices = graph->vertices;
    rows.row = allocate((graph->vertices + 1ul) * sizeof *rows.row);
    rows.parent = allocate(graph->vertices * sizeof *rows.parent);
    rows.queue = allocate(graph->vertices * sizeof *rows.queue);
    memcpy(neighbours, graph->neighbours, graph->edges * sizeof *neighbours);
    for (uint32_t i = 0; i <= graph->vertices; i++) rows.row[i] = neighbours + graph->begin[i];
}

/* Returns a number made of the vertices that were reached, in their order. */
static uint64_t search_rows(uint32_t source) {
    const uint32_t none = UINT32_MAX;
    uint32_t *const parent = rows.parent, *const queue = rows.queue, first = 0, end = 0;
    uint64_t sum = 0;
    memset(parent, 0xFF, rows.vertices * sizeof *parent);
    parent[source] = source;
    queue[end++] = source;
    while (first < end) {
        const uint32_t vertex = queue[first++];
        sum = sum * 31 + vertex;
        for (const uint32_t *other = rows.row[vertex]; other < rows.row[vertex + 1]; other++)
            if (parent[*other] == none) {
                parent[*other] = vertex;
                queue[end++] = *other;
            }
    }
    return sum;
}

/* A vertex as an object. */
struct vertex {
    struct vertex *parent;
    struct vertex **neighbours;
    uint32_t degree, number;
    /* The search that came here last. */
    uint64_t search;
};

static struct vertex **vertices, **queue;

/* All vertices, and then their arrays, as a program allocates them that reads the edges when it has the vertices. The pointers
 * to the vertices are needed only to begin a search, and stay local. */
static void write_objects(const struct graph *graph) {
    vertices = local_memory(graph->vertices * sizeof *vertices);
    queue = allocate(graph->vertices * sizeof *queue);
    for (uint32_t i = 0; i < graph->vertices; i++) {
        vertices[i] = allocate(sizeof **vertices);
        const uint32_t degree = graph->begin[i + 1] - graph->begin[i];
        *vertices[i] = (struct vertex){ NULL, NULL, degree, i, 0 };
    }
    struct vertex ***arrays = local_memory(graph->vertices * sizeof *arrays);
    for (uint32_t i = 0; i < graph->vertices; i++) {
        const uint32_t *other = &graph->neighbours[graph->begin[i]];
        const uint32_t degree = graph->begin[i + 1] - graph->begin[i];
        if (degree > 0) arrays[i] = allocate(degree * sizeof **arrays);
        for (uint32_t j = 0; j < degree; j++) arrays[i][j] = vertices[other[j]];
    }
    for (uint32_t i = 0; i < graph->vertices; i++) vertices[i]->neighbours = arrays[i];
    free_local(arrays, graph->vertices * sizeof *arrays);
}

static uint64_t search_objects(uint32_t source) {
    static uint64_t search = 0;
    struct vertex **first = queue, **end = queue;
    uint64_t sum = 0;
    search++;
    vertices[source]->search = search;
    *end++ = vertices[source];
    while (first < end) {
        struct vertex *vertex = *first++;
        sum = sum * 31 + vertex->number;
        for (uint32_t i = 0; i < vertex->degree; i++) {
            struct vertex *other = vertex->neighbours[i];
            if (other->search != search) {
                other->search = search;
                other->parent = vertex;
                *end++ = other;
            }
        }
    }
    return sum;
}

int main(int count, char **arguments) {
    const uint64_t scale = number(count, arguments, 2), searches = number(count, arguments, 3);
    const int is_rows = !strcmp(arguments[1], "rows");
    if (!is_rows && strcmp(arguments[1], "objects")) fail("no such form");
    if (scale < 4 || scale > 26) fail("bad scale");
    struct graph graph = generate(scale);
    uint32_t *sources = sources_of(&graph, searches);
    (is_rows ? write_rows : write_objects)(&graph);
    forget(&graph);
    uint64_t (*const search)(uint32_t) = is_rows ? search_rows : search_objects;
    uint64_t sum = search(sources[0]);
    const double begin = begin_part();
    for (uint64_t i = 1; i <= searches; i++) sum = sum * 31 + search(sources[i]);
    end_part(begin);
    printf("%016llx\n", (unsigned long long)sum);
    return 0;
}
