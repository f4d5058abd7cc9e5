#ifndef FARSIDE_PLUGIN_TRIP_H
#define FARSIDE_PLUGIN_TRIP_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace llvm {
class Function;
class Module;
} // namespace llvm

namespace farside {

struct Trouble;

/// The way of a module's function bodies to MLIR, through passes there, and back. Whatever fails on the way leaves the
/// bodies concerned as they were.
class Trip {
public:
  /// A body that did not take part, and why; no function means all of the module.
  struct Stayed {
    llvm::Function *function;
    std::string reason;
  };

  /// `passes` is a pipeline of MLIR passes, as farside-opt takes it; it may be empty.
  Trip(llvm::Module &module, llvm::StringRef passes);

  void run();

  /// Functions that have a new body.
  llvm::SmallVector<llvm::Function *> changed;
  llvm::SmallVector<Stayed> stayed;
  /// Bodies that came back the very same.
  unsigned same = 0;

private:
  void chooseBodies();
  bool attempt();
  void blame(const Trouble &trouble, llvm::Function *function, llvm::StringRef step);

  llvm::Module &module;
  llvm::StringRef passes;
  llvm::SmallPtrSet<const llvm::Function *, 16> going;
};

} // namespace farside

#endif
