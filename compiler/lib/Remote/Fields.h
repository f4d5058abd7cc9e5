#ifndef FARSIDE_LIB_REMOTE_FIELDS_H
#define FARSIDE_LIB_REMOTE_FIELDS_H

#include "Farside/Remote/Plan.h"

namespace farside {

class Reach;

/// Adds to a plan in which loops only some fields of a section's records are used, or why in none: outermost loops, with all
/// that they call. Fields are selected when such a loop is come to, and everything when it is left, so it has to be left
/// where that can be seen, and nothing but it may use the section meanwhile.
void planFields(llvm::Module &module, const SectionFile &file, const Reach &reach, bool isWhole,
                llvm::function_ref<std::optional<std::string>(const llvm::Function &)> whyNot, Plan &plan);

} // namespace farside

#endif
