// Classes of what may be the same: what Reach finds out by looking at the program ends up here.

#include "Farside/Remote/Reach.h"

#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace farside {

int Reach::fresh() {
  int node = nodes.size();
  nodes.push_back({node, none, none, {}});
  return node;
}

int Reach::find(int node) {
  while (nodes[node].parent != node) {
    // What last led to outside tells why; it is not skipped.
    int next = nodes[nodes[node].parent].parent;
    if (next != outside)
      nodes[node].parent = next;
    node = nodes[node].parent;
  }
  return node;
}

int Reach::find(int node) const {
  while (nodes[node].parent != node)
    node = nodes[node].parent;
  return node;
}

int Reach::pointee(int node) {
  node = find(node);
  if (nodes[node].pointee == none) {
    int made = fresh();
    nodes[node].pointee = made;
  }
  return nodes[node].pointee;
}

/// Why what has escaped has: as what it is joined with, or for what is being looked at.
int Reach::reasonOf(int member) {
  while (nodes[member].parent != member && nodes[member].reason == none)
    member = nodes[member].parent;
  if (nodes[member].reason != none)
    return nodes[member].reason;
  reasons.push_back({true, current, currentHow});
  return reasons.size() - 1;
}

void Reach::noteEscape(Node &node, int reason) {
  node.reason = reason;
  for (unsigned site : node.sites)
    if (!escapes[site].happened)
      escapes[site] = reasons[reason];
}

void Reach::unify(int one, int other, int why) {
  struct Pair {
    int member, joined;
    /// Why they escape if they do, if what points to them did.
    int reason;
  };
  SmallVector<Pair> work{{one, other, why}};
  while (!work.empty()) {
    auto [member, joined, reason] = work.pop_back_val();
    // What is outside leads all that comes to it.
    if (find(joined) == outside)
      std::swap(member, joined);
    int first = find(member), second = find(joined);
    if (first == second)
      continue;
    if (first == outside) {
      reason = reason == none ? reasonOf(member) : reason;
      noteEscape(nodes[second], reason);
    }
    Node &into = nodes[first], &gone = nodes[second];
    gone.parent = first;
    into.sites.insert(into.sites.end(), gone.sites.begin(), gone.sites.end());
    gone.sites.clear();
    if (into.pointee == none)
      into.pointee = gone.pointee;
    else if (gone.pointee != none)
      work.push_back({into.pointee, gone.pointee, reason});
  }
}

/// Two values, or a value and what is in memory, may be the same: they point to the same.
void Reach::join(int one, int other) {
  int target = pointee(one), otherTarget = pointee(other);
  bool escapes = find(target) == outside || find(otherTarget) == outside;
  // What leads outside tells why; outside itself does not.
  int leading = find(one) == outside ? one : other;
  unify(target, otherTarget, escapes && find(leading) == outside ? reasonOf(leading) : none);
}

/// What a value points to is known outside.
void Reach::escape(int node, const Twine &how) {
  if (node == none)
    return;
  currentHow = how.str();
  join(node, outside);
}

} // namespace farside
