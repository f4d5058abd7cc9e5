// What is defined in programs in place of what balances trees in the C++ library makes the same trees, and the two can take
// turns.
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: clang -O2 -c -Wno-override-module %bitcode/farside-cplusplus.bc -o all.o
// RUN: llvm-objcopy --prefix-symbols=own all.o own.o
// RUN: clang++ -O1 %s own.o -o same
// RUN: ./same | FileCheck %s
// CHECK: 800000 times the same
#include <cstdio>
#include <cstdlib>
#include <map>

using Base = std::_Rb_tree_node_base;
struct Node : Base {
  long key;
};

void own_insert(bool, Base *, Base *, Base &) asm("own_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_");
Base *own_erase(Base *, Base &) asm("own_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_");
Base *own_next(Base *) asm("own_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base");
Base *own_previous(Base *) asm("own_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base");

static long key_of(const Base *node) { return static_cast<const Node *>(node)->key; }

static bool is_same(const Base *one, const Base *other, const Base *above, const Base *above_other) {
  if (!one || !other)
    return one == other;
  return key_of(one) == key_of(other) && one->_M_color == other->_M_color && one->_M_parent == above &&
         other->_M_parent == above_other && is_same(one->_M_left, other->_M_left, one, other) &&
         is_same(one->_M_right, other->_M_right, one, other);
}

struct Tree {
  Base header;
  Base *parent, *found;
  bool is_left;

  Tree() {
    header._M_color = std::_S_red;
    header._M_parent = nullptr;
    header._M_left = header._M_right = &header;
  }
  void find(long key) {
    parent = &header, found = nullptr, is_left = true;
    for (Base *at = header._M_parent; at; at = is_left ? at->_M_left : at->_M_right) {
      if (key_of(at) == key) {
        found = at;
        return;
      }
      parent = at, is_left = key < key_of(at);
    }
  }
  void change(long key, bool own) {
    find(key);
    if (found) {
      delete static_cast<Node *>(own ? own_erase(found, header) : std::_Rb_tree_rebalance_for_erase(found, header));
      return;
    }
    Node *node = new Node;
    node->key = key;
    if (own)
      own_insert(is_left, node, parent, header);
    else
      std::_Rb_tree_insert_and_rebalance(is_left, node, parent, header);
  }
  bool is_same_as(const Tree &other) const {
    if (!header._M_parent)
      return !other.header._M_parent && other.header._M_left == &other.header && other.header._M_right == &other.header;
    return is_same(header._M_parent, other.header._M_parent, &header, &other.header) &&
           key_of(header._M_left) == key_of(other.header._M_left) && key_of(header._M_right) == key_of(other.header._M_right);
  }
  bool is_walked_the_same() {
    for (Base *at = header._M_left; at != &header; at = own_next(at)) {
      Base *next = std::_Rb_tree_increment(at);
      if (own_next(at) != next || own_previous(next) != at || std::_Rb_tree_decrement(next) != at)
        return false;
    }
    return true;
  }
};

int main() {
  srand(5);
  long times = 0;
  for (int round = 0; round < 400; round++) {
    Tree one, other;
    for (int i = 0, range = 1 + rand() % 300; i < 2000; i++, times++) {
      long key = rand() % range;
      one.change(key, false);
      other.change(key, round % 3 < 2 || rand() % 2);
      if (!one.is_same_as(other))
        return 1;
    }
    if (!other.is_walked_the_same())
      return 2;
  }
  std::printf("%ld times the same\n", times);
}
