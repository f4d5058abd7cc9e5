/* Numbers by chance, the same in every run. */
#ifndef RANDOM_H
#define RANDOM_H

#include <algorithm>
#include <cmath>
#include <cstdint>

/* A number that looks as if it had nothing to do with the one it is made of. */
inline uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* Numbers from 0 on, the first ones more often: rejection sampling after Hoermann and Derflinger. */
class Zipf {
public:
    Zipf(uint64_t count, double s) : count(count), s(s) {
        first = area(1.5) - 1;
        all = area(count + 0.5);
        bound = 2 - back(area(2.5) - std::pow(2, -s));
    }

    uint64_t next(uint64_t &state) const {
        for (;;) {
            state = mix(state + 0x9E3779B97F4A7C15u);
            const double u = all + (state >> 11) * 0x1p-53 * (first - all);
            const double x = back(u);
            const double k = std::min(std::max(std::floor(x + 0.5), 1.0), double(count));
            if (k - x <= bound || u >= area(k + 0.5) - std::pow(k, -s)) return uint64_t(k) - 1;
        }
    }

private:
    double area(double x) const { return s == 1 ? std::log(x) : (std::pow(x, 1 - s) - 1) / (1 - s); }
    double back(double y) const { return s == 1 ? std::exp(y) : std::pow(1 + y * (1 - s), 1 / (1 - s)); }

    uint64_t count;
    double s, first, all, bound;
};

#endif
