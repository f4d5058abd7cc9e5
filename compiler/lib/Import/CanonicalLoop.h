#ifndef FARSIDE_LIB_IMPORT_CANONICALLOOP_H
#define FARSIDE_LIB_IMPORT_CANONICALLOOP_H

#include "llvm/IR/PassManager.h"

namespace llvm {
class Loop;
} // namespace llvm

namespace farside {

/// Has a loop count its turns from 0, if it is known how many it takes before it takes the first, and that is not seen from
/// how it counts now; returns whether it does. Loops that are left elsewhere than at their end stay.
bool makeCanonical(llvm::Loop &loop, llvm::FunctionAnalysisManager &analyses);

} // namespace farside

#endif
