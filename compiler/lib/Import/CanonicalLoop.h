#ifndef FARSIDE_LIB_IMPORT_CANONICALLOOP_H
#define FARSIDE_LIB_IMPORT_CANONICALLOOP_H

#include "llvm/IR/PassManager.h"

namespace llvm {
class Loop;
} // namespace llvm

namespace farside {

/// Has a loop count its turns from 0, if it is known how many it takes before it takes the first, and that is not seen from how
/// it counts now. It is to be what `farside-count-loops` counts: with a body that is left at its end only.
bool makeCanonical(llvm::Loop &loop, llvm::FunctionAnalysisManager &analyses);

} // namespace farside

#endif
