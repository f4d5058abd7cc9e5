#ifndef FARSIDE_LIB_REMOTE_SITES_H
#define FARSIDE_LIB_REMOTE_SITES_H

#include "Farside/Remote/Plan.h"
#include "llvm/ADT/StringRef.h"

namespace farside {

/// What `markSites` marks calls with: an attribute, which calls keep when they become invokes. Its value is the section.
inline constexpr llvm::StringLiteral siteAttribute = "farside.site";
/// Where the section file says that it is, if it was inlined there.
inline constexpr llvm::StringLiteral placeAttribute = "farside.site.place";
/// What `markOffloaded` marks functions with.
inline constexpr llvm::StringLiteral offloadAttribute = "farside.offload";

/// The calls that `markSites` marked and that are left; without those for sections that the file does not have.
llvm::SmallVector<Plan::Site> markedSites(llvm::Module &module, const SectionFile &file);

/// Takes the marks off all calls of a function.
void forgetSites(llvm::Function &function);

} // namespace farside

#endif
