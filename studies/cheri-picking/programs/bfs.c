// Breadth-first search in a graph whose rows lie one after the other (compressed sparse rows), each named by a pointer to
// where it begins, as in GapBS. Some vertices have many more edges than others.
// Usage: bfs VERTICES. Prints how many vertices were reached, and a checksum of the depths.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEGREE = 16 };

static uint64_t state = 1;

static uint64_t next(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
}

// A vertex: those with low numbers are chosen more often.
static int32_t vertex(long n) {
    uint64_t a = next() % n, b = next() % n;
    return a * b / n;
}

int main(int count, char **arguments) {
    long n = count > 1 ? atol(arguments[1]) : 400000;
    if (n < 2 || n > 1L << 26) {
        fprintf(stderr, "usage: bfs VERTICES, from 2 to 2^26\n");
        return 2;
    }
    long edges = n * DEGREE;
    int32_t *neighbors = malloc(edges * sizeof *neighbors);
    int32_t **rows = malloc((n + 1) * sizeof *rows);
    int32_t *depths = malloc(n * sizeof *depths), *queue = malloc(n * sizeof *queue);
    if (!neighbors || !rows || !depths || !queue) return 3;
    long used = 0;
    for (long i = 0; i < n; i++) {
        rows[i] = neighbors + used;
        long degree = (n - i) * DEGREE / n + next() % DEGREE;
        for (long edge = 0; edge < degree && used < edges; edge++) neighbors[used++] = vertex(n);
    }
    rows[n] = neighbors + used;
    uint64_t sum = 0, reached = 0;
    for (int search = 0; search < 2; search++) {
        for (long i = 0; i < n; i++) depths[i] = -1;
        long head = 0, tail = 0;
        queue[tail++] = next() % n;
        depths[queue[0]] = 0;
        while (head < tail) {
            int32_t from = queue[head++];
            for (int32_t *to = rows[from]; to < rows[from + 1]; to++)
                if (depths[*to] < 0) {
                    depths[*to] = depths[from] + 1;
                    queue[tail++] = *to;
                }
        }
        for (long i = 0; i < n; i++) sum = sum * 31 + depths[i];
        reached += tail;
    }
    printf("reached %llu, checksum %llu\n", (unsigned long long)reached, (unsigned long long)sum);
    return 0;
}
