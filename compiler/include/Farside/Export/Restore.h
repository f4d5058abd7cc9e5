#ifndef FARSIDE_EXPORT_RESTORE_H
#define FARSIDE_EXPORT_RESTORE_H

#include "Farside/Import/Numbers.h"

namespace llvm {
class DISubprogram;
class Function;
} // namespace llvm

namespace farside {

/// How much of an instruction still holds when it comes back.
enum class Restoring {
  /// Nothing was done to the body: it is to be what it was.
  everything,
  /// Passes worked on the body: operations are what they were, but not the flow between them.
  operations,
};

/// Gives the instructions of a function that came from MLIR back what MLIR does not keep: attributes of calls, metadata,
/// flags. Globals and types must be the original module's already. Source locations stay numbers.
void restoreInstructions(llvm::Function &fresh, const Numbers &numbers, Restoring restoring);

/// Turns numbers back into source locations, and markers into debug records. `subprogram` is that of the original
/// function, or null if it has none.
void restoreDebugInfo(llvm::Function &fresh, llvm::DISubprogram *subprogram, const Numbers &numbers);

} // namespace farside

#endif
