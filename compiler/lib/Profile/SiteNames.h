#ifndef FARSIDE_LIB_PROFILE_SITENAMES_H
#define FARSIDE_LIB_PROFILE_SITENAMES_H

#include "Farside/Sections/SectionFile.h"
#include <cstdint>
#include <string>
#include <tuple>

namespace llvm {
class CallBase;
class DIScope;
} // namespace llvm

namespace farside {

/// How a section file names a call that allocates. What was inlined from a header of the system is known by the place of
/// the program that it was inlined to. In a function that is of such a header itself, as one that has a vector grow, it is
/// known by that function's name in the object, and so is what is at no line.
SiteName siteNameOf(const llvm::CallBase &call);

/// What tells sites apart: calls that come from the same place are of one.
using SiteKey = std::tuple<std::string, std::string, uint64_t, uint64_t>;
SiteKey keyOf(const SiteName &site);

/// Whether what is in the source is in a header that comes with the compiler or the system.
bool isOfSystem(const llvm::DIScope &scope);

} // namespace farside

#endif
