#ifndef FARSIDE_LIB_PROFILE_ALLSITES_H
#define FARSIDE_LIB_PROFILE_ALLSITES_H

#include "Farside/Remote/Plan.h"

namespace farside {

/// All calls of a module that allocate.
llvm::SmallVector<llvm::CallBase *> allocatingCalls(llvm::Module &module);

/// The same, and what becomes of a section file that names each of them.
struct AllSites {
  llvm::SmallVector<llvm::CallBase *> calls;
  Plan plan;
};
AllSites allSites(llvm::Module &module);

} // namespace farside

#endif
