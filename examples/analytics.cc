/*
 * Analyses taxi trips, held in columns as data frames do: filters, groups, joins, sorts and aggregates.
 *
 *     analytics [--trips N]
 *
 * The trips are generated, with the columns, types and skew of those that New York City publishes. Prints what it
 * finds, and to standard error how long it took.
 */
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <getopt.h>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include <farside.h>

#include "random.h"

namespace {

constexpr int ZONES = 265, BOROUGHS = 7, VENDORS = 2, PAYMENTS = 4, MOST_PASSENGERS = 6;
constexpr int64_t FIRST_DAY = 1451606400, DAY = 86400, DAYS = 31;

struct Random {
    uint64_t state;
    double uniform() { return (mix(state += 0x9E3779B97F4A7C15u) >> 11) * 0x1p-53; }
    double normal() {
        const double angle = 2 * M_PI * uniform();
        return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(angle);
    }
    /* From 0 on, small numbers more often. */
    int skewed(int count, double skew) { return int(count * std::pow(uniform(), skew)); }
};

/* Rows that are gone through together: between two hints at a column lie some pages. */
constexpr size_t BLOCK = 4096;

template <class T> class Column {
public:
    explicit Column(size_t size = 0) : values(std::make_unique_for_overwrite<T[]>(size)) {}
    T &operator[](size_t i) { return values[i]; }
    const T &operator[](size_t i) const { return values[i]; }

    /* A block from here on is about to be read. */
    void reads(size_t i) const { farside_hint(&values[i], .size = BLOCK * sizeof(T), .ahead = 128); }
    /* It is about to be written. */
    void writes(size_t i) { farside_hint(&values[i], .size = BLOCK * sizeof(T), .mut = 1, .ahead = 128); }

private:
    std::unique_ptr<T[]> values;
};

/* Goes through rows, block by block: `enter` is called with the first of each. */
template <class Enter, class Row> void each_row(size_t count, Enter enter, Row row) {
    for (size_t first = 0; first < count; first += BLOCK) {
        enter(first);
        const size_t end = std::min(first + BLOCK, count);
        for (size_t i = first; i < end; i++) row(i);
    }
}

struct Trips {
    size_t count = 0;
    Column<int8_t> vendor, passengers, payment;
    Column<int64_t> pickup, dropoff;
    Column<int16_t> from, to;
    Column<double> from_longitude, from_latitude, to_longitude, to_latitude;
    Column<double> distance, fare, tip, total;

    explicit Trips(size_t count)
        : count(count), vendor(count), passengers(count), payment(count), pickup(count), dropoff(count), from(count),
          to(count), from_longitude(count), from_latitude(count), to_longitude(count), to_latitude(count),
          distance(count), fare(count), tip(count), total(count) {}
};

Trips generate(size_t count) {
    Trips trips(count);
    Random random{1};
    for (size_t i = 0; i < count; i++) {
        trips.vendor[i] = random.uniform() < 0.47 ? 1 : 2;
        trips.passengers[i] = random.uniform() < 0.71 ? 1 : 2 + random.skewed(MOST_PASSENGERS - 1, 2);
        trips.payment[i] = random.uniform() < 0.66 ? 1 : 2 + random.skewed(PAYMENTS - 1, 6);
        /* Sorted by day, as they are published. */
        trips.pickup[i] = FIRST_DAY + int64_t(double(i) / count * DAYS) * DAY + int64_t(random.uniform() * DAY);
        const double miles = std::exp(0.6 + 0.9 * random.normal());
        const double minutes = 2 + miles * std::exp(1.4 + 0.4 * random.normal());
        trips.dropoff[i] = trips.pickup[i] + int64_t(60 * minutes);
        trips.from[i] = random.skewed(ZONES, 2.5);
        trips.to[i] = random.skewed(ZONES, 1.8);
        trips.from_longitude[i] = -73.97 + 0.03 * random.normal();
        trips.from_latitude[i] = 40.75 + 0.02 * random.normal();
        trips.to_longitude[i] = trips.from_longitude[i] + 0.01 * miles * random.normal();
        trips.to_latitude[i] = trips.from_latitude[i] + 0.01 * miles * random.normal();
        trips.distance[i] = std::round(miles * 100) / 100;
        trips.fare[i] = std::round((2.5 + 2.5 * miles + 0.35 * minutes) * 2) / 2;
        trips.tip[i] = trips.payment[i] == 1 ? std::round(trips.fare[i] * random.uniform() * 30) / 100 : 0;
        trips.total[i] = trips.fare[i] + trips.tip[i] + 0.8;
    }
    return trips;
}

/* Counts by vendor and passengers. */
void passengers(const Trips &trips) {
    std::array<std::array<uint64_t, 16>, VENDORS + 1> counts{};
    each_row(
        trips.count, [&](size_t i) { trips.vendor.reads(i), trips.passengers.reads(i); },
        [&](size_t i) { counts[trips.vendor[i]][trips.passengers[i]]++; });
    for (int v = 1; v <= VENDORS; v++) {
        for (int p = 1; p <= MOST_PASSENGERS; p++) printf("vendor %d, %d passengers: %llu\n", v, p, (unsigned long long)counts[v][p]);
    }
}

/* How long trips take: a new column, its mean by hour of the day, and by sorting it its quantiles. */
void durations(const Trips &trips) {
    Column<int32_t> durations(trips.count);
    std::array<double, 24> sums{};
    std::array<uint64_t, 24> counts{};
    each_row(
        trips.count, [&](size_t i) { trips.pickup.reads(i), trips.dropoff.reads(i), durations.writes(i); },
        [&](size_t i) {
            const int64_t begin = trips.pickup[i], took = trips.dropoff[i] - begin;
            const int hour = begin % DAY / 3600;
            sums[hour] += took;
            counts[hour]++;
            durations[i] = took;
        });
    for (int hour = 0; hour < 24; hour++) printf("%02d h: %.1f s\n", hour, sums[hour] / counts[hour]);
    std::sort(&durations[0], &durations[0] + trips.count);
    for (int percent : {1, 25, 50, 75, 99}) printf("%d %%: %d s\n", percent, durations[trips.count * percent / 100]);
}

/* How far trips lead as the crow flies: a new column, and how much longer the way was. */
void detours(const Trips &trips) {
    constexpr double RADIAN = M_PI / 180, MILES = 3958.8;
    Column<double> crow(trips.count);
    double ways = 0, flights = 0;
    each_row(
        trips.count,
        [&](size_t i) {
            trips.from_longitude.reads(i), trips.from_latitude.reads(i), trips.to_longitude.reads(i);
            trips.to_latitude.reads(i), crow.writes(i);
        },
        [&](size_t i) {
            const double one = trips.from_latitude[i] * RADIAN, other = trips.to_latitude[i] * RADIAN;
            const double across = std::sin((trips.to_longitude[i] - trips.from_longitude[i]) * RADIAN / 2);
            const double along = std::sin((other - one) / 2);
            const double squared = along * along + std::cos(one) * std::cos(other) * across * across;
            crow[i] = 2 * MILES * std::asin(std::sqrt(squared));
        });
    each_row(
        trips.count, [&](size_t i) { trips.distance.reads(i), crow.reads(i); },
        [&](size_t i) {
            if (crow[i] > 0.5) ways += trips.distance[i], flights += crow[i];
        });
    printf("way per flight: %.4f\n", ways / flights);
}

/* Those that are long and were paid by card, as trips of their own. */
Trips selected(const Trips &trips) {
    Column<uint32_t> rows(trips.count);
    size_t count = 0;
    each_row(
        trips.count, [&](size_t i) { trips.distance.reads(i), trips.payment.reads(i), rows.writes(count); },
        [&](size_t i) {
            if (trips.distance[i] > 4 && trips.payment[i] == 1) rows[count++] = i;
        });
    Trips some(count);
    const auto select = [&](const auto &all, auto &chosen) {
        each_row(
            count,
            [&](size_t i) {
                rows.reads(i), chosen.writes(i);
                /* They lie in order, so that what is chosen of them lies in so many blocks. */
                const size_t end = rows[std::min(i + BLOCK, count) - 1];
                for (size_t row = rows[i]; row <= end; row += BLOCK) all.reads(row);
            },
            [&](size_t i) { chosen[i] = all[rows[i]]; });
    };
    select(trips.vendor, some.vendor), select(trips.passengers, some.passengers), select(trips.payment, some.payment);
    select(trips.pickup, some.pickup), select(trips.dropoff, some.dropoff);
    select(trips.from, some.from), select(trips.to, some.to);
    select(trips.from_longitude, some.from_longitude), select(trips.from_latitude, some.from_latitude);
    select(trips.to_longitude, some.to_longitude), select(trips.to_latitude, some.to_latitude);
    select(trips.distance, some.distance), select(trips.fare, some.fare);
    select(trips.tip, some.tip), select(trips.total, some.total);
    return some;
}

/* Joined with the table of zones: what each borough pays, and the routes that earn most. */
void routes(const Trips &trips) {
    std::array<int, ZONES> borough;
    for (int zone = 0; zone < ZONES; zone++) borough[zone] = mix(zone) % BOROUGHS;
    std::array<double, BOROUGHS> paid{};
    std::vector<std::pair<double, int>> earned(ZONES * ZONES);
    each_row(
        trips.count, [&](size_t i) { trips.from.reads(i), trips.to.reads(i), trips.total.reads(i); },
        [&](size_t i) {
            paid[borough[trips.from[i]]] += trips.total[i];
            auto &route = earned[trips.from[i] * ZONES + trips.to[i]];
            route.first += trips.total[i];
            route.second++;
        });
    for (int i = 0; i < BOROUGHS; i++) printf("borough %d: %.2f\n", i, paid[i]);
    std::vector<int> best(earned.size());
    std::iota(best.begin(), best.end(), 0);
    std::partial_sort(best.begin(), best.begin() + 5, best.end(),
                      [&](int a, int b) { return earned[a].first > earned[b].first; });
    for (int i = 0; i < 5; i++) {
        const auto &[sum, count] = earned[best[i]];
        printf("from %d to %d: %.2f for %d\n", best[i] / ZONES, best[i] % ZONES, sum, count);
    }
}

/* Tips by passengers, and as a share of the fare. */
void tips(const Trips &trips) {
    std::array<double, 16> tips{}, fares{};
    each_row(
        trips.count, [&](size_t i) { trips.passengers.reads(i), trips.tip.reads(i), trips.fare.reads(i); },
        [&](size_t i) {
            tips[trips.passengers[i]] += trips.tip[i];
            fares[trips.passengers[i]] += trips.fare[i];
        });
    for (int p = 1; p <= MOST_PASSENGERS; p++) printf("%d passengers: %.2f %%\n", p, 100 * tips[p] / fares[p]);
}

}

int main(int argc, char **argv) {
    const option known[] = {{"trips", 1, 0, 't'}, {0, 0, 0, 0}};
    size_t count = 2'000'000;
    for (int c; (c = getopt_long(argc, argv, "", known, 0)) != -1;) {
        char *end = nullptr;
        if (c == 't') count = strtoull(optarg, &end, 10);
        if (c != 't' || *end || count < 1000 || count > UINT32_MAX) {
            fputs("usage: analytics [--trips N], from 1000 on\n", stderr);
            return 2;
        }
    }
    const Trips trips = generate(count);
    const auto begin = std::chrono::steady_clock::now();
    passengers(trips);
    durations(trips);
    detours(trips);
    routes(trips);
    tips(trips);
    const Trips some = selected(trips);
    printf("%zu of them are long and were paid by card\n", some.count);
    durations(some);
    detours(some);
    routes(some);
    tips(some);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    fprintf(stderr, "%.4f s\n", took.count());
    return 0;
}
