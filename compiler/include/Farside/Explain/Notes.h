#ifndef FARSIDE_EXPLAIN_NOTES_H
#define FARSIDE_EXPLAIN_NOTES_H

#include "Farside/Explain/Names.h"
#include "Farside/Remote/Plan.h"
#include "Farside/Sections/SectionFile.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
}

namespace farside {

class Numbers;

/// What became of each allocation that the section file names, and of each access to it: what `farside explain` shows. It
/// is written into the program, a line of JSON for each unit that has such allocations.
class Notes {
public:
  /// A function that is to run where its data is; if it does not, why, and where in the source that is.
  struct Offload {
    std::string function, place, why, because;
  };

  /// Looks at a program in which loops that can be one are, and turns that can be taken together, before anything else is done
  /// to them.
  void lookAtLoops(mlir::ModuleOp program);
  /// Looks at a program in which loops hold lines, and that is not lowered yet.
  void look(mlir::ModuleOp program, const Numbers &numbers, const Plan &plan);
  /// Looks at it again when lookups are shared.
  void lookAtShared(mlir::ModuleOp program);

  /// Adds them to a module. Nothing is added where no site is.
  void addTo(llvm::Module &module, const SectionFile &file, const Plan &plan, llvm::ArrayRef<Offload> offloads,
             llvm::function_ref<bool(unsigned)> isShared) const;

private:
  struct Access {
    /// Where it is in the source.
    std::string place, function;
    llvm::StringRef kind;
    llvm::SmallVector<unsigned> sites;
    /// Its instruction.
    unsigned number;
    /// Whether a loop looks its line up for many turns at once, and whether lines are sent for before that.
    bool held = false, ahead = false;
    /// Whether its lines may leave before others when the loop has come through them.
    bool done = false;
    /// Whether it is in a loop that was made of two.
    bool fused = false;
    /// Whether it is in a loop that takes several turns together.
    bool jammed = false;
    /// Whether it is spared its lookup by one of another access.
    bool shared = false;
  };

  std::vector<Access> accesses;
  /// Instructions in loops that were made of two.
  llvm::DenseSet<unsigned> fused;
  /// Instructions in loops that take several turns together.
  llvm::DenseSet<unsigned> jammed;
};

} // namespace farside

#endif
