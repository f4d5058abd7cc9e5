#ifndef FARSIDE_IMPORT_LISTENING_H
#define FARSIDE_IMPORT_LISTENING_H

#include "Farside/Import/Import.h"
#include "mlir/IR/Diagnostics.h"

namespace farside {

/// Takes what MLIR reports instead of having it printed, and keeps the first error.
class Listening : public mlir::ScopedDiagnosticHandler {
public:
  Listening(mlir::MLIRContext &context, Trouble &trouble);
};

/// The number that a location carries, or 0.
unsigned numberAt(mlir::Location location);

} // namespace farside

#endif
