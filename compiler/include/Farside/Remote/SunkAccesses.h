#ifndef FARSIDE_REMOTE_SUNKACCESSES_H
#define FARSIDE_REMOTE_SUNKACCESSES_H

namespace llvm {
class Module;
} // namespace llvm

namespace farside {

/// Makes loads and stores of what was one of several places, by the way that control took, the several that they were in the
/// source: what optimizes makes one of them, as of `e = table[i]` before a loop and `e = e->next` in it. Its pointer leads to
/// either, so that all of it could be in one section only.
void raiseSunkAccesses(llvm::Module &module);

} // namespace farside

#endif
