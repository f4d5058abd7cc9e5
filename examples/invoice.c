/*
 * Writes invoices: the program that docs/ten-lines-to-fast.md makes fast.
 *
 *     invoice [ORDERS]
 *
 * Each order changes its customer's account, reads the description of its product, and adds a line to the journal.
 * Prints a sum over all of it, and to standard error how long it took.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CUSTOMERS = 100000, PRODUCTS = 10000, DESCRIPTION = 9000 };

struct order {
    uint32_t customer, product;
    uint64_t count;
};

struct customer {
    uint64_t balance, orders;
    char address[1008];
};

struct product {
    uint64_t price;
    unsigned char description[DESCRIPTION];
};

struct line {
    uint64_t customer, amount, words;
    char text[104];
};

static uint64_t mix(uint64_t x) {
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9u;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* Low numbers are asked for more often. */
static uint32_t skewed(uint64_t x, uint32_t end) {
    uint64_t a = mix(x) >> 32, b = mix(~x) >> 32;
    return (a * b >> 32) * end >> 32;
}

static void *array(size_t count, size_t size) {
    void *at = calloc(count, size);
    if (!at) {
        fprintf(stderr, "invoice: no memory for %zu times %zu bytes\n", count, size);
        exit(1);
    }
    return at;
}

static struct order *read_orders(size_t count) {
    struct order *orders = array(count, sizeof *orders);
    for (size_t i = 0; i < count; i++) {
        orders[i].customer = skewed(i, CUSTOMERS);
        orders[i].product = skewed(i + count, PRODUCTS);
        orders[i].count = mix(i) % 9 + 1;
    }
    return orders;
}

static struct customer *read_customers(void) {
    struct customer *customers = array(CUSTOMERS, sizeof *customers);
    for (size_t i = 0; i < CUSTOMERS; i++) customers[i].balance = mix(i) % 1000;
    return customers;
}

static struct product *read_products(void) {
    struct product *products = array(PRODUCTS, sizeof *products);
    for (size_t i = 0; i < PRODUCTS; i++) {
        products[i].price = mix(i) % 500 + 1;
        for (size_t j = 0; j < DESCRIPTION; j++) products[i].description[j] = "word and word "[(i + j) % 14];
    }
    return products;
}

static uint64_t words_of(const struct product *product) {
    uint64_t words = 0;
    for (size_t j = 0; j < DESCRIPTION; j++) words += product->description[j] == ' ';
    return words;
}

static void write_line(struct line *line, const struct order *order, uint64_t amount, uint64_t words) {
    line->customer = order->customer;
    line->amount = amount;
    line->words = words;
}

static void invoice(const struct order *orders, size_t count, struct customer *customers,
                    const struct product *products, struct line *journal) {
    for (size_t i = 0; i < count; i++) {
        struct customer *customer = &customers[orders[i].customer];
        const struct product *product = &products[orders[i].product];
        uint64_t words = words_of(product), amount = product->price * orders[i].count + words;
        customer->balance += amount;
        customer->orders++;
        write_line(&journal[i], &orders[i], amount, words);
    }
}

static uint64_t total(const struct customer *customers) {
    uint64_t sum = 0;
    for (size_t i = 0; i < CUSTOMERS; i++) {
        sum = sum * 3 + customers[i].balance;
    }
    return sum;
}

int main(int argc, char **argv) {
    size_t count = argc > 1 ? strtoul(argv[1], 0, 10) : 300000;
    struct timespec begin, end;
    struct order *orders = read_orders(count);
    struct customer *customers = read_customers();
    struct product *products = read_products();
    struct line *journal = array(count, sizeof *journal);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    invoice(orders, count, customers, products, journal);
    uint64_t sum = total(customers);
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%016llx\n", (unsigned long long)sum);
    fprintf(stderr, "%.2f s\n", end.tv_sec - begin.tv_sec + (end.tv_nsec - begin.tv_nsec) * 1e-9);
    return 0;
}
