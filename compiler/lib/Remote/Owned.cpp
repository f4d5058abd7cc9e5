// Which objects several threads may come to (thesis 6.7). What is passed to a thread or comes back from it has escaped,
// since what starts and joins threads is not compiled here. What is left is memory that all threads have in common:
// variables, and what these lead to. A thread that has a pointer to what another one has allocated has read it from memory
// that is common, too, and so on; so nothing else leads from one thread to another.

#include "Farside/Remote/Reach.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace farside {

std::vector<const GlobalVariable *> Reach::findCommon() const {
  std::vector<const GlobalVariable *> common(escapes.size());
  DenseSet<int> reached;
  for (const GlobalVariable &variable : module.globals()) {
    // What does not change leads to what is there at the start only.
    if (variable.isThreadLocal() || variable.isConstant())
      continue;
    auto found = values.find(&variable);
    int first = found == values.end() || found->second == none ? none : nodes[find(found->second)].pointee;
    if (first == none)
      continue;
    // Objects that are common. What else is in the class of a variable is so only if something leads to it.
    SmallVector<int> work{first};
    while (!work.empty()) {
      int memory = nodes[find(work.pop_back_val())].memory;
      if (memory == none)
        continue;
      const Node &inside = nodes[find(memory)];
      auto reach = [&](int target) {
        int objects = find(target);
        if (objects == outside || !reached.insert(objects).second)
          return;
        for (unsigned site : nodes[objects].sites)
          common[site] = &variable;
        work.push_back(objects);
      };
      if (inside.pointee != none)
        reach(inside.pointee);
      for (const Typed &each : inside.typed)
        reach(each.target);
    }
  }
  return common;
}

const Function *Reach::switchingStacks(const Module &module) {
  static constexpr StringLiteral ways[] = {"makecontext", "setcontext", "swapcontext", "jump_fcontext", "ontop_fcontext"};
  for (StringRef way : ways)
    if (const Function *function = module.getFunction(way))
      return function;
  return nullptr;
}

} // namespace farside
