// Functions of the C library are lent memory also where C++ takes it that they may throw, and more than two texts.
// RUN: %remote %S/Inputs/lendable.toml %s
// RUN: farside-c++ -O2 -g -c -Rfarside -fno-farside-link -ffarside-whole-program -fsections=%S/Inputs/lendable.toml %s -o /dev/null 2>&1 | \
// RUN:   FileCheck %s --implicit-check-not='does not go'
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

struct person {
  char first[40], second[40], title[20], place[120];
  long number;
};

enum { PEOPLE = 300, NUMBERS = 5000 };

// CHECK: what is allocated here goes to the section 'people'
static person *new_people() { return static_cast<person *>(calloc(PEOPLE, sizeof(person))); }
// CHECK: what is allocated here goes to the section 'numbers'
static long *new_numbers() { return static_cast<long *>(calloc(NUMBERS, sizeof(long))); }

// What has to be destroyed, whatever comes.
struct guard {
  std::unique_ptr<std::string> name;
  explicit guard(const char *name) : name(new std::string(name)) {}
  ~guard() { fprintf(stdout, "end of %s\n", name->c_str()); }
};

static FILE *file_of(const long *numbers) {
  FILE *file = tmpfile();
  if (!file || fwrite(numbers, sizeof(long), NUMBERS, file) != NUMBERS)
    abort();
  rewind(file);
  return file;
}

static int by_value(const void *one, const void *other) {
  long first = *static_cast<const long *>(one), second = *static_cast<const long *>(other);
  return (first > second) - (first < second);
}

__attribute__((noinline)) static long read_all(long *numbers, FILE *file) {
  guard guard("reading");
  size_t count = fread(numbers, sizeof(long), NUMBERS, file);
  qsort(numbers, count, sizeof(long), by_value);
  long all = 0;
  for (size_t i = 0; i < count; i++)
    all = all * 3 + numbers[i];
  return all;
}

__attribute__((noinline)) static void show(const person *people, long count) {
  guard guard("people");
  for (long i = 0; i < count; i++) {
    const person *each = &people[i];
    printf("%s: %s %s %s of %.*s, %ld %s\n", "person", each->title, each->first, each->second, int(each->number % 60), each->place,
           each->number, i % 2 ? each->place : nullptr);
    puts(each->place);
  }
}

int main() {
  person *people = new_people();
  long *numbers = new_numbers();
  for (long i = 0; i < PEOPLE; i++) {
    person *each = &people[i];
    snprintf(each->first, sizeof each->first, "first%ld", i * 7919 % 1000);
    snprintf(each->second, sizeof each->second, "%0*ld", int(i % 39), i);
    strcpy(each->title, i % 3 ? "Dr" : "");
    memset(each->place, 'a' + i % 26, i % 119);
    each->number = i * i;
  }
  static long some[NUMBERS];
  for (long i = 0; i < NUMBERS; i++)
    some[i] = i * 7919 % NUMBERS;
  FILE *file = file_of(some);
  printf("%ld\n", read_all(numbers, file));
  show(people, PEOPLE);
  fclose(file);
  free(numbers);
  free(people);
  return 0;
}
