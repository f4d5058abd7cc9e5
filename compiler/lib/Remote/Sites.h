#ifndef FARSIDE_LIB_REMOTE_SITES_H
#define FARSIDE_LIB_REMOTE_SITES_H

#include "Farside/Remote/Plan.h"
#include "llvm/ADT/StringRef.h"

namespace farside {

/// What `markSites` marks calls with.
inline constexpr llvm::StringLiteral siteMetadata = "farside.site";

/// The calls that `markSites` marked and that are left; without those for sections that the file does not have.
llvm::SmallVector<Plan::Site> markedSites(llvm::Module &module, const SectionFile &file);

} // namespace farside

#endif
