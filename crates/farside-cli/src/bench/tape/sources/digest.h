// What all programs have in common: a digest that tells where each number is, not only which there are.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

class Digest {
  uint64_t state = 0xcbf29ce484222325;

 public:
  void add(const double *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) {
      uint64_t bits;
      std::memcpy(&bits, numbers + i, sizeof bits);
      state = (state ^ bits) * 0x9e3779b97f4a7c15;
    }
  }

  void print(const char *name) const {
    std::printf("%s %016llx\n", name, static_cast<unsigned long long>(state));
  }
};

// The number that is argument `place`; ends the program if there is none.
inline long argument(int argc, char **argv, int place) {
  long value = place < argc ? std::strtol(argv[place], nullptr, 10) : 0;
  if (value > 0) return value;
  std::fprintf(stderr, "%s: argument %d: a positive number is wanted\n", argv[0], place);
  std::exit(2);
}
