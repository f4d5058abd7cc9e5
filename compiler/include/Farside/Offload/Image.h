#ifndef FARSIDE_OFFLOAD_IMAGE_H
#define FARSIDE_OFFLOAD_IMAGE_H

#include "Farside/Offload/Candidate.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>
#include <vector>

namespace llvm {
class Module;
} // namespace llvm

namespace farside {

/// A function that is to run where its data is, and how a call of it is packed: an input, which is a block of bytes that
/// the function may write to, and an output.
struct Offloaded {
  llvm::Function *function = nullptr;
  Candidate candidate;
  /// Offsets in the input of each argument, or of what is lent by it; and of each variable that goes with the call.
  llvm::SmallVector<uint64_t> arguments, variables;
  /// Offsets in the output of what is lent; the value is the first.
  llvm::SmallVector<uint64_t> lent;
  uint64_t input = 0, output = 0;
};

/// Where, behind the bytes of what is lent, it is marked which of them were written.
uint64_t marksOf(const Lent &lent);

/// Bytes of a block for what is lent.
uint64_t blockOf(const Lent &lent);

/// Lays out the calls of functions that can run elsewhere.
Offloaded layOut(llvm::Function &function, Candidate candidate);

/// Machine code of functions as they run where their data is: what is in sections has addresses there (thesis 6.5). It is
/// an object file, which refers to nothing but what is offered, and has for each function, in this order, an entry
/// `farside_entry_N(input, output)`, and a table `farside_bases`, to be filled in with what has to be added to a pointer
/// into the section of that number. The module stays as it is. `why` is set if it cannot be made.
std::string makeImage(llvm::Module &module, const Plan &plan, llvm::ArrayRef<Offloaded> functions, unsigned sections,
                      std::string &why);

} // namespace farside

#endif
