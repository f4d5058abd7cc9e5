// What C++ allocates of types that have an alignment of their own: objects, arrays, containers; and what throws.
// RUN: %remote %S/Inputs/aligned_new.toml %s -std=c++17
// RUN: %remote %S/Inputs/aligned_new.toml %s -std=c++17 -mavx2 -fsized-deallocation
// RUN: farside-c++ -O2 -c -Rfarside -std=c++17 -fno-farside-link -ffarside-whole-program -fsections=%S/Inputs/aligned_new.toml %s -o %t.o 2>&1 | FileCheck %s
#include <cstdint>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <vector>

static int alive;
struct alignas(64) Cell {
  float values[12];
  Cell *next;
  explicit Cell(Cell *next = nullptr, int number = 0) : next(next) {
    for (int i = 0; i < 12; i++)
      values[i] = (float)(number * i);
    if (number % 500 == 499)
      throw std::runtime_error("not this one");
    alive++;
  }
  ~Cell() { alive--; }
};
struct alignas(4096) Page {
  long numbers[600];
};
// More than there is in sections.
struct alignas(1 << 17) Plate {
  long numbers[10];
};

__attribute__((noinline)) static Cell *make_cell(Cell *next, int number) {
  // CHECK-DAG: aligned_new.cpp:[[@LINE+1]]: remark: what is allocated here goes to the section 'cells'
  return new Cell(next, number);
}
__attribute__((noinline)) static Cell *make_cells(size_t count) {
  // CHECK-DAG: aligned_new.cpp:[[@LINE+1]]: remark: what is allocated here goes to the section 'arrays'
  return new Cell[count];
}
__attribute__((noinline)) static Cell *try_cells(size_t count) {
  // CHECK-DAG: aligned_new.cpp:[[@LINE+1]]: remark: what is allocated here goes to the section 'arrays'
  return new (std::nothrow) Cell[count];
}
__attribute__((noinline)) static Page *make_page() {
  // CHECK-DAG: aligned_new.cpp:[[@LINE+1]]: remark: what is allocated here goes to the section 'pages'
  return new Page();
}
__attribute__((noinline)) static Plate *make_plate() {
  // CHECK-DAG: aligned_new.cpp:[[@LINE+1]]: remark: what is allocated here goes to the section 'pages'
  return new Plate();
}

__attribute__((noinline)) static float sum_of_cells(size_t count) {
  // CHECK-DAG: aligned_new.cpp:[[@LINE+1]]: remark: what is allocated here goes to the section 'vectors'
  std::vector<Cell> cells(count);
  for (size_t i = 0; i < count; i++)
    for (int j = 0; j < 12; j++)
      cells[i].values[j] += (float)(i % 50 + j);
  float sum = 0;
  for (const Cell &cell : cells)
    sum = sum / 2 + cell.values[3] + cell.values[11] + (float)((std::uintptr_t)&cell & 63);
  return sum;
}

int main() {
  Cell *first = nullptr;
  int thrown = 0;
  for (int i = 0; i < 2000; i++)
    try {
      first = make_cell(first, i);
    } catch (const std::exception &) {
      thrown++;
    }
  float sum = 0;
  while (Cell *cell = first) {
    sum = sum / 2 + cell->values[5] + (float)((std::uintptr_t)cell & 63);
    first = cell->next;
    delete cell;
  }
  std::printf("%g %d %d\n", sum, thrown, alive);
  Cell *cells = make_cells(700), *others = try_cells(300);
  for (int i = 0; i < 300; i++)
    for (int j = 0; j < 12; j++)
      cells[i + 400].values[j] = others[i].values[j] = (float)(i * j);
  for (int i = 0; i < 300; i++)
    sum = sum / 2 + others[i].values[i % 12] + cells[2 * i].values[7] + (float)((std::uintptr_t)&others[i] & 63);
  delete[] cells;
  delete[] others;
  std::printf("%g %d\n", sum, alive);
  std::printf("%g %g %d\n", sum_of_cells(40), sum_of_cells(5000), alive);
  Page *pages[30];
  for (int i = 0; i < 30; i++) {
    pages[i] = make_page();
    for (int j = 0; j < 600; j++)
      pages[i]->numbers[j] += i * j;
  }
  Plate *plate = make_plate();
  plate->numbers[7] = 5;
  long total = plate->numbers[7] + plate->numbers[8] + ((std::uintptr_t)plate & 4095);
  for (Page *page : pages) {
    total = total * 3 + page->numbers[599] + page->numbers[1] + ((std::uintptr_t)page & 4095);
    delete page;
  }
  delete plate;
  std::printf("%ld\n", total);
  std::printf("%d\n", try_cells((size_t)1 << 55) != nullptr);
  try {
    sum_of_cells((size_t)1 << 55);
  } catch (const std::bad_alloc &) {
    std::puts("no memory");
  }
  try {
    make_cells((size_t)1 << 55);
  } catch (const std::bad_alloc &) {
    std::puts("no memory");
  }
}
