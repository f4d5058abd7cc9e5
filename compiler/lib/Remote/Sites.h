#ifndef FARSIDE_LIB_REMOTE_SITES_H
#define FARSIDE_LIB_REMOTE_SITES_H

#include "Farside/Remote/Plan.h"

namespace farside {

/// The calls that `markSites` marked and that are left.
llvm::SmallVector<Plan::Site> markedSites(llvm::Module &module);

} // namespace farside

#endif
