#ifndef FARSIDE_EXPLAIN_LISTING_H
#define FARSIDE_EXPLAIN_LISTING_H

#include <string>

namespace mlir {
class ModuleOp;
}

namespace farside {

class Numbers;

/// A program as text that farside-opt reads, and that says after each operation in a comment where in the source it comes
/// from.
std::string listingOf(mlir::ModuleOp program, const Numbers &numbers);

} // namespace farside

#endif
