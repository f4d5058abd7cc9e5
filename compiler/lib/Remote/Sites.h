#ifndef FARSIDE_LIB_REMOTE_SITES_H
#define FARSIDE_LIB_REMOTE_SITES_H

#include "Farside/Remote/Plan.h"

namespace farside {

/// The calls that `markSites` marked and that are left.
llvm::SmallVector<Plan::Site> markedSites(llvm::Module &module);

/// The file and the line that an instruction comes from; only the file if the line is not known.
std::string placeOf(const llvm::Instruction &instruction);

} // namespace farside

#endif
