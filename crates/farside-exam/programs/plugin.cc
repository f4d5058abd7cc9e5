// Loaded by exceptions.cc: throws across the border of a shared object.
#include <stdexcept>
#include <string>
#include <vector>

extern "C" long plugin_work(const std::vector<std::string> &words, long turn) {
    long sum = 0;
    for (const auto &word : words) sum = sum * 31 + static_cast<long>(word.size());
    if (turn % 3 == 0) throw std::runtime_error("turn " + std::to_string(turn));
    return sum;
}
