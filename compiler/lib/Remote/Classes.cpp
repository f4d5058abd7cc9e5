// Classes of what may be the same: what Reach finds out by looking at the program ends up here.

#include "Farside/Remote/Reach.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include <utility>

using namespace llvm;

namespace farside {

int Reach::fresh() {
  int node = nodes.size();
  nodes.emplace_back().parent = node;
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

/// What is in objects.
int Reach::memory(int objects) {
  objects = find(objects);
  if (nodes[objects].memory == none) {
    int made = fresh();
    nodes[objects].memory = made;
  }
  return find(nodes[objects].memory);
}

/// What pointers point to that are at a place in memory; without one, what all do, which are not told apart any more.
int Reach::content(int memory, const TypedPlace &place) {
  memory = find(memory);
  if (nodes[memory].pointee != none)
    return nodes[memory].pointee;
  if (!place) {
    auto all = std::exchange(nodes[memory].typed, {});
    int target = pointee(memory);
    for (const Typed &each : all)
      unify(target, each.target, none);
    return target;
  }
  int target = fresh();
  SmallVector<int> same;
  enter(nodes[memory].typed, {place, target}, same);
  for (int each : same)
    unify(target, each, none);
  return target;
}

/// Enters what pointers at a place point to. What is the same, of what was there, is returned: of the place, and, if they are
/// accessed wherever they are, of all that are of the same type.
void Reach::enter(SmallVectorImpl<Typed> &typed, const Typed &entry, SmallVectorImpl<int> &same) {
  auto isSame = [&](const Typed &each) {
    return each.place == entry.place || (each.place.type == entry.place.type && !each.place.record);
  };
  if (auto found = find_if(typed, isSame); found != typed.end())
    return same.push_back(found->target);
  if (!entry.place.record)
    erase_if(typed, [&](const Typed &each) {
      bool isField = each.place.type == entry.place.type;
      if (isField)
        same.push_back(each.target);
      return isField;
    });
  typed.push_back(entry);
}

/// A value may be what is at a pointer, where it is read or written at a place.
void Reach::access(int pointer, const TypedPlace &place, int value) {
  int objects = pointee(pointer);
  joinTargets(objects, content(memory(objects), place), value, pointee(value));
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

/// What is in memory is the same at two pointers, of whatever type it is.
void Reach::copyContent(int to, int from) {
  int one = pointee(to), other = pointee(from);
  joinTargets(one, memory(one), other, memory(other));
}

/// What is to become the same, by members of classes.
struct Reach::Pair {
  int member, joined;
  /// Why they escape if they do, if what points to them did.
  int reason;
};

/// Functions of one class are passed the same, and return the same.
void Reach::passTheSame(int into, const Passed &passed, int reason, SmallVectorImpl<Pair> &work) {
  for (const Slot &slot : passed) {
    int target = pointee(slot.value);
    if (into == outside) {
      work.push_back({outside, target, reason});
      continue;
    }
    Passed &all = nodes[into].passed;
    auto same = find_if(all, [&](const Slot &each) { return each.place == slot.place && each.kind == slot.kind; });
    if (same == all.end()) {
      all.push_back(slot);
      continue;
    }
    int value = same->value;
    work.push_back({pointee(value), target, reason});
  }
}

void Reach::unify(int one, int other, int why) {
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
    auto merge = [&](int &one, int other) {
      if (one == none)
        one = other;
      else if (other != none)
        work.push_back({one, other, reason});
    };
    merge(into.memory, gone.memory);
    merge(into.pointee, gone.pointee);
    auto all = std::exchange(gone.typed, {});
    if (into.pointee != none)
      all.append(std::exchange(into.typed, {}));
    for (const Typed &each : all) {
      SmallVector<int> same;
      if (into.pointee != none)
        same.push_back(into.pointee);
      else
        enter(into.typed, each, same);
      for (int target : same)
        work.push_back({target, each.target, reason});
    }
    if (!gone.passed.empty())
      passTheSame(first, std::exchange(gone.passed, {}), reason, work);
  }
}

/// Two values, or a value and what is in memory, may be the same: they point to the same.
void Reach::join(int one, int other) { joinTargets(one, pointee(one), other, pointee(other)); }

/// What two point to is the same.
void Reach::joinTargets(int one, int target, int other, int otherTarget) {
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

/// What is in memory at a pointer is known outside.
void Reach::escapeContent(int pointer, const Twine &how) {
  currentHow = how.str();
  int objects = pointee(pointer);
  joinTargets(objects, memory(objects), outside, outside);
}

} // namespace farside
