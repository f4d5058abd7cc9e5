/*
 * Queries on a data frame of taxi trips, a table that is kept by columns: frame TRIPS DRIVERS.
 *
 * A filter, two aggregates by groups, and a join with the table of drivers by hashing.
 */
#include "measured.h"

enum { HOURS = 24, ZONES = 256 };

/* Trips, a column for each of what is known of them. */
struct frame {
    long count;
    int *hour, *zone, *passengers;
    double *distance, *fare;
    uint64_t *driver;
};

/* An entry of the table of drivers; one without a license is free. */
struct driver {
    uint64_t license;
    long trips;
    double share, earned;
};

struct drivers {
    struct driver *table;
    uint64_t mask;
};

static int *new_integers(long count) {
    return there(malloc(count * sizeof(int)));
}

static double *new_numbers(long count) {
    return there(malloc(count * sizeof(double)));
}

static uint64_t *new_keys(long count) {
    return there(malloc(count * sizeof(uint64_t)));
}

static struct driver *new_table(long count) {
    return there(calloc(count, sizeof(struct driver)));
}

static long *new_selection(long count) {
    return there(malloc(count * sizeof(long)));
}

static uint64_t license_of(uint64_t number) {
    return draw(&number) | 1;
}

static struct frame new_frame(long count, long driver_count) {
    struct frame frame = {count, new_integers(count), new_integers(count), new_integers(count),
                          new_numbers(count), new_numbers(count), new_keys(count)};
    uint64_t state = 1;
    for (long i = 0; i < count; i++) {
        const uint64_t some = draw(&state), more = draw(&state);
        frame.hour[i] = (int)(some % HOURS);
        frame.zone[i] = (int)(some >> 8 & (ZONES - 1));
        frame.passengers[i] = (int)(some >> 16 & 7);
        frame.distance[i] = (double)(some >> 24 & 1023) / 32;
        frame.fare[i] = 2.5 + frame.distance[i] * 2 + (double)(more & 255) / 64;
        frame.driver[i] = license_of((more >> 8) % (uint64_t)driver_count);
    }
    return frame;
}

static void free_frame(struct frame *frame) {
    free(frame->hour);
    free(frame->zone);
    free(frame->passengers);
    free(frame->distance);
    free(frame->fare);
    free(frame->driver);
}

/* The entry of a driver, or the free one where it would be. */
static struct driver *find(const struct drivers *drivers, uint64_t license) {
    uint64_t at = license * 0x9e3779b97f4a7c15u >> 20;
    for (;; at++) {
        struct driver *driver = &drivers->table[at & drivers->mask];
        if (driver->license == license || !driver->license) return driver;
    }
}

static struct drivers new_drivers(long count) {
    struct drivers drivers;
    uint64_t size = 2;
    while (size < 2 * (uint64_t)count) size *= 2;
    drivers.table = new_table((long)size);
    drivers.mask = size - 1;
    for (long i = 0; i < count; i++) {
        struct driver *driver = find(&drivers, license_of((uint64_t)i));
        driver->license = license_of((uint64_t)i);
        driver->share = 0.5 + (double)(i % 32) / 64;
    }
    return drivers;
}

/* The rows of long trips of several passengers. */
static long select_long(const struct frame *frame, long *rows) {
    long count = 0;
    for (long i = 0; i < frame->count; i++) {
        HINT(&frame->distance[i], .ahead = 64, .sequential = 1);
        HINT(&frame->passengers[i], .ahead = 64, .sequential = 1);
        if (frame->distance[i] > 16 && frame->passengers[i] > 1) rows[count++] = i;
    }
    return count;
}

static void fares_by_hour(const struct frame *frame, double *fares, long *counts) {
    for (long i = 0; i < frame->count; i++) {
        HINT(&frame->hour[i], .ahead = 64, .sequential = 1);
        HINT(&frame->fare[i], .ahead = 64, .sequential = 1);
        fares[frame->hour[i]] += frame->fare[i];
        counts[frame->hour[i]]++;
    }
}

/* Fare for each mile of some rows, by zone. */
static void rates_by_zone(const struct frame *frame, const long *rows, long count, double *rates) {
    for (long i = 0; i < count; i++) {
        const long row = rows[i];
        HINT(&frame->zone[row], .ahead = 64, .sequential = 1);
        HINT(&frame->fare[row], .ahead = 64, .sequential = 1);
        HINT(&frame->distance[row], .ahead = 64, .sequential = 1);
        rates[frame->zone[row]] += frame->fare[row] / frame->distance[row];
    }
}

#ifdef BY_HAND
/* Sends for the entries of the drivers of some rows. */
static void send_for(const struct frame *frame, const struct drivers *drivers, long from, long to) {
    const void *entries[32];
    if (to > frame->count) to = frame->count;
    for (long i = from; i < to; i++)
        entries[i - from] = &drivers->table[(frame->driver[i] * 0x9e3779b97f4a7c15u >> 20) & drivers->mask];
    if (from < to) SEND_FOR(entries, (size_t)(to - from));
}
#endif

/* What drivers earn. */
static void join(const struct frame *frame, const struct drivers *drivers) {
    for (long i = 0; i < frame->count; i++) {
#ifdef BY_HAND
        if (i % 32 == 0) send_for(frame, drivers, i + 32, i + 64);
#endif
        HINT(&frame->driver[i], .ahead = 64, .sequential = 1);
        HINT(&frame->fare[i], .ahead = 64, .sequential = 1);
        struct driver *driver = find(drivers, frame->driver[i]);
        driver->earned += frame->fare[i] * driver->share;
        driver->trips++;
    }
}

static double most_earned(const struct drivers *drivers) {
    double most = 0;
    for (uint64_t i = 0; i <= drivers->mask; i++) {
        HINT(&drivers->table[i], .ahead = 64, .sequential = 1);
        if (drivers->table[i].earned > most) most = drivers->table[i].earned;
    }
    return most;
}

int main(int argc, char **argv) {
    long count = argument(argc, argv, 1, 4000000), driver_count = argument(argc, argv, 2, 200000);
    struct frame frame = new_frame(count, driver_count);
    struct drivers drivers = new_drivers(driver_count);
    long *rows = new_selection(count);
    double fares[HOURS] = {0}, rates[ZONES] = {0};
    long counts[HOURS] = {0};
    double begin = now();
    long selected = select_long(&frame, rows);
    fares_by_hour(&frame, fares, counts);
    rates_by_zone(&frame, rows, selected, rates);
    join(&frame, &drivers);
    double most = most_earned(&drivers);
    took(begin);
    printf("%ld selected, most earned %.4f\n", selected, most);
    for (int i = 0; i < HOURS; i++) printf("%d: %ld, %.4f\n", i, counts[i], fares[i] / (double)counts[i]);
    for (int i = 0; i < ZONES; i++) printf("%.6f\n", rates[i]);
    free(rows);
    free(drivers.table);
    free_frame(&frame);
    return 0;
}
