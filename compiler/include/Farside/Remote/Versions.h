#ifndef FARSIDE_REMOTE_VERSIONS_H
#define FARSIDE_REMOTE_VERSIONS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringRef.h"

namespace llvm {
class Function;
class Module;
class Value;
} // namespace llvm

namespace farside {

/// The variable of a converted module that says whether any of its sections is more than plain memory. addSupport() sees to
/// it that it does.
constexpr llvm::StringLiteral anyRemote = "farside.remote";

/// The name that a function has for others, whether it is converted or not.
llvm::StringRef nameForOthers(const llvm::Function &function);

/// Functions in two versions: as they are converted, and as they were. As long as none of a module's sections is open, all
/// pointers are plain, and the second one is all that is needed: without Farside, and where everything is local anyhow.
class Versions {
public:
  explicit Versions(llvm::Module &module) : module(module) {}

  /// Keeps what functions are before anything of them is changed, as far as that can be.
  void keep(const llvm::SmallPtrSetImpl<const llvm::Function *> &functions);

  /// Whether a function is what was kept of another one.
  bool isKept(const llvm::Function &function) const { return copies.contains(&function); }

  /// Gives up what was kept.
  void forget();

  /// Puts in the place of each of the functions, which are converted now, a choice between it and what was kept.
  void choose(llvm::ArrayRef<llvm::Function *> converted);

private:
  /// Makes the choice, which has the name of what it chooses from.
  llvm::Function &put(llvm::Function &converted, llvm::Function &plain, llvm::Value &flag);

  llvm::Module &module;
  /// Nothing calls those that were kept before the choice is made.
  llvm::MapVector<llvm::Function *, llvm::Function *> kept;
  llvm::SmallPtrSet<const llvm::Function *, 16> copies;
};

} // namespace farside

#endif
