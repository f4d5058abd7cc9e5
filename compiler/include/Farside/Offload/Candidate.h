#ifndef FARSIDE_OFFLOAD_CANDIDATE_H
#define FARSIDE_OFFLOAD_CANDIDATE_H

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace llvm {
class Argument;
class Function;
class GlobalVariable;
class Instruction;
} // namespace llvm

namespace farside {

struct Plan;

/// Memory of the program that an argument leads to and that goes with a call: `size` bytes of it.
struct Lent {
  const llvm::Argument *argument;
  uint64_t size;
  /// Whether the function may read what it had before, and whether it may write to it.
  bool in, out;
  /// Whether nothing but what is written is known to be there, so that it is taken note of which bytes are.
  bool marked;
};

/// What a function is that can run where its data is (thesis 5.6): all that it needs of the program is known, and of what
/// it leaves behind, too.
struct Candidate {
  /// It, and what it calls.
  llvm::SetVector<const llvm::Function *> functions;
  /// Variables that it only reads, and that go with each call.
  llvm::SetVector<const llvm::GlobalVariable *> captured;
  /// Constants of the program.
  llvm::SetVector<const llvm::GlobalVariable *> constants;
  llvm::SmallVector<Lent> lent;
  /// What leaves results where nothing else is known to be.
  llvm::SmallVector<const llvm::Instruction *> results;
  /// Sections, by their number, that it reads.
  llvm::SetVector<unsigned> sections;
  /// Why it cannot, and where that is; empty if it can.
  std::string why, where;
};

/// Looks whether a function can run elsewhere as a plan has it.
Candidate candidateOf(const llvm::Function &function, const Plan &plan);

/// Whether a function of the C library is there where functions are run.
bool isOffered(llvm::StringRef name);

} // namespace farside

#endif
