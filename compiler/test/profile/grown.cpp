// What the library allocates in functions of its own, which are not inlined, has no line of the program. It is known by the function
// of the library, and goes to a section as what is allocated at lines does.
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: farside-c++ -O2 -g -ffarside-profile %s -o profiled
// RUN: %S/Inputs/candidates show profiled | FileCheck %s --implicit-check-not='stays:'
// CHECK-DAG: site {{[0-9]+}} _M_{{[a-z_]+}} of no line class [[TABLE:[0-9]+]]
// CHECK-DAG: site {{[0-9]+}} grown.cpp:{{[0-9]+}}:{{[0-9]+}} main class [[TABLE]]
// RUN: %S/Inputs/candidates sections profiled > grown.toml
// RUN: farside-c++ -O2 -g -Rfarside -fsections=grown.toml %s -o converted 2>&1 | FileCheck %s --check-prefix=GOES
// GOES: hashtable.h:{{[0-9]+}}: remark: what is allocated here goes to the section 'class
// RUN: %remote grown.toml %s -g
// Without lines all is known by functions, also those of the program.
// RUN: farside-c++ -O2 -ffarside-profile -g0 %s -o unnamed
// RUN: %S/Inputs/candidates show unnamed | FileCheck %s --check-prefix=UNNAMED --implicit-check-not='stays:'
// UNNAMED: site {{[0-9]+}} main of no line class
// RUN: %S/Inputs/candidates sections unnamed > unnamed.toml
// RUN: farside-c++ -O2 -g0 -Rfarside -fsections=unnamed.toml %s -o converted 2>&1 | FileCheck %s --check-prefix=FOUND
// FOUND-NOT: nothing is allocated
// FOUND: what is allocated here goes to the section 'class
#include <cstdio>
#include <unordered_map>

int main(int argc, char **) {
  std::unordered_map<long, long> table;
  for (long i = 0; i < 5000; i++) table[i * 7919 % 3001] += i;
  for (long i = 0; i < 4000; i++) table[i * argc] += 3;
  for (long i = 0; i < 3000; i++) table.emplace(-i, i);
  long sum = 0;
  for (long i = -4000; i < 6000; i++)
    if (auto found = table.find(i); found != table.end()) sum = sum * 3 + found->second;
  std::printf("%ld %zu\n", sum, table.size());
}
