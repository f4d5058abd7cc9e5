#ifndef FARSIDE_PLUGIN_TRIP_H
#define FARSIDE_PLUGIN_TRIP_H

#include "Farside/Explain/Notes.h"
#include "Farside/Offload/Image.h"
#include "Farside/Remote/Plan.h"
#include "Farside/Remote/Versions.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace llvm {
class Function;
class MemoryBuffer;
class Module;
} // namespace llvm
namespace mlir {
class ModuleOp;
}

namespace farside {

class Numbers;
struct Trouble;

/// What a program is converted by: the section file, and the bitcode of compiler/runtime/sections.c.
struct Conversion {
  const SectionFile &file;
  const llvm::MemoryBuffer &bitcode;
  /// Whether nothing that is compiled elsewhere uses the same sections.
  bool isWhole;
  /// Whether what the bitcode has that is not inlined is linked with the program, too.
  bool isLinked;
};

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
  /// The same, and what the section file names goes to sections as far as that is possible.
  Trip(llvm::Module &module, llvm::StringRef passes, const Conversion &conversion);

  void run();

  /// Whether functions stay as they are, too, for where all pointers are plain.
  bool keepsPlain = false;
  /// Whether to show what the program is like in MLIR, converted and before it is lowered.
  bool isListed = false;
  std::string listing;

  /// Functions that have a new body.
  llvm::SmallVector<llvm::Function *> changed;
  llvm::SmallVector<Stayed> stayed;
  /// Bodies that came back the very same.
  unsigned same = 0;
  /// What became of the sites that the section file names.
  Plan plan;
  /// What became of functions that are to run where their data is.
  std::vector<Notes::Offload> offloads;
  /// What makes it impossible to go on; the module is of no use then.
  std::string broken;

private:
  void planConversion();
  void chooseBodies();
  bool attempt();
  bool markAccesses(mlir::ModuleOp program, const Numbers &numbers, Trouble &trouble) const;
  bool convert(mlir::ModuleOp program, const Numbers &numbers, Trouble &trouble);
  bool isShared(unsigned section) const;
  void chooseOffloaded();
  void refuseOwn(Candidate &candidate) const;
  std::string imageOfOffloaded();
  bool isConverting() const { return !plan.accesses.empty(); }
  void blame(const Trouble &trouble, llvm::Function *function, llvm::StringRef step);

  llvm::Module &module;
  llvm::StringRef passes;
  const Conversion *conversion = nullptr;
  /// Functions that MLIR failed on when they were converted.
  llvm::DenseMap<const llvm::Function *, std::string> failed;
  llvm::SmallPtrSet<const llvm::Function *, 16> going;
  /// Functions that the section file wants to run where their data is, and those of them that can.
  std::vector<Offloaded> offloaded;
  Versions versions;
  Notes notes;
};

} // namespace farside

#endif
