#ifndef FARSIDE_EXPORT_ADOPT_H
#define FARSIDE_EXPORT_ADOPT_H

#include "Farside/Export/Restore.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include <string>

namespace llvm {
class GlobalValue;
class Module;
} // namespace llvm

namespace farside {

/// What became of the bodies that went through MLIR.
struct Adopted {
  struct Refusal {
    llvm::Function *function;
    std::string reason;
  };
  /// Came back the very same.
  unsigned same = 0;
  /// Functions that have a new body.
  llvm::SmallVector<llvm::Function *> changed;
  /// Functions that keep the body they had, because the new one is not valid.
  llvm::SmallVector<Refusal> refused;
};

/// Puts the bodies of `fresh` in the place of those in `module`, and adds what is new. All else in the module stays as it
/// is. `originals` tells what in the module is meant by names in `fresh`. If the bodies make sense only `together`, either
/// all of them are taken or none.
Adopted adoptBodies(llvm::Module &module, llvm::Module &fresh, const llvm::StringMap<llvm::GlobalValue *> &originals,
                    const Numbers &numbers, Restoring restoring, bool together);

} // namespace farside

#endif
