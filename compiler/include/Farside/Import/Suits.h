#ifndef FARSIDE_IMPORT_SUITS_H
#define FARSIDE_IMPORT_SUITS_H

#include <optional>
#include <string>

namespace llvm {
class Function;
}

namespace farside {

/// Why the body of this function cannot go to MLIR and must stay as clang made it; nothing if it can go.
/// What is not foreseen here is noticed on the way: importing, exporting or verifying fails, and the body stays.
std::optional<std::string> whyItStays(const llvm::Function &function);

} // namespace farside

#endif
