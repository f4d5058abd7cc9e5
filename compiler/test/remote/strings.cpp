// Texts of std::string, in trees, tables and lists, global ones among them; streams show them, and may throw meanwhile.
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: farside-c++ -O2 -g -ffarside-profile %s -o profiled
// RUN: %S/../profile/Inputs/candidates show profiled | FileCheck %s --implicit-check-not='stays:'
// CHECK: site {{[0-9]+}} strings.cpp
// RUN: %S/../profile/Inputs/candidates sections profiled > strings.toml
// RUN: farside-c++ -O2 -g -Rfarside -fsections=strings.toml %s -o converted 2>&1 | \
// RUN:   FileCheck %s --check-prefix=GOES --implicit-check-not='does not go'
// GOES: what is allocated here goes to the section
// RUN: %remote strings.toml %s -g
// RUN: farside-c++ -O2 -std=c++20 -ffarside-profile %s -o later
// RUN: %S/../profile/Inputs/candidates show later | FileCheck %s --implicit-check-not='stays:'
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <list>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

struct Person {
  std::string name, city;
  int age;
};

static std::map<std::string, long> counts;
static std::unordered_map<std::string, std::vector<long>> places;

__attribute__((noinline)) static std::string name(long i) {
  std::string name = std::to_string(i * 7919 % 1009);
  if (i % 2)
    name += " and more than what a short text has room for";
  name.append(i % 5, 'x');
  name[0] = char(std::toupper(name[0]));
  return name;
}

__attribute__((noinline)) static std::vector<Person> make_people(long count) {
  std::vector<Person> people;
  for (long i = 0; i < count; i++) {
    people.push_back({name(i), "city of " + name(i / 7), int(i % 90)});
    counts[people.back().city]++;
    places[people.back().name].push_back(i);
  }
  std::sort(people.begin(), people.end(), [](const Person &one, const Person &other) { return one.name < other.name; });
  people.erase(people.begin() + 3);
  return people;
}

// What shows no more after a while.
struct Failing : std::streambuf {
  long left = 300;
  int overflow(int next) override { return left-- > 0 ? next : EOF; }
  std::streamsize xsputn(const char *, std::streamsize count) override { return (left -= count) > 0 ? count : 0; }
};

__attribute__((noinline)) static long show(const std::list<std::string> &all) {
  Failing buffer;
  std::ostream out(&buffer);
  out.exceptions(std::ios::badbit);
  long thrown = 0;
  for (const std::string &each : all)
    try {
      std::string twice = each + "/" + each;
      out << each << twice.c_str() << '\n';
      out.write(twice.data(), twice.size());
    } catch (const std::exception &) {
      thrown++;
      buffer.left = 200;
      out.clear();
    }
  return thrown;
}

int main(int argc, char **argv) {
  std::vector<Person> people = make_people(1500 * argc);
  std::list<std::string> names;
  for (const Person &each : people)
    if (each.age % 5 == 0)
      names.push_back(each.name + "," + each.city);
  if (argc > 5)
    names.emplace_back(argv[1]);
  long sum = 0;
  for (const auto &[city, count] : counts)
    sum = sum * 31 + long(city.size()) * count + (city.find("more") != std::string::npos);
  for (const std::string &each : names)
    sum = sum * 31 + each.back();
  std::string last = names.front();
  last.insert(3, "inserted").replace(0, 2, last);
  std::cout << show(names) << ' ' << sum << ' ' << places[name(5)].size() << ' ' << last << '\n';
  std::cout << counts.begin()->first << std::endl;
}
