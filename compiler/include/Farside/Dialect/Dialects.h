#ifndef FARSIDE_DIALECT_DIALECTS_H
#define FARSIDE_DIALECT_DIALECTS_H

namespace mlir {
class DialectRegistry;
}

namespace farside {

/// Enters all dialects that programs are in on their way through the passes.
void registerDialects(mlir::DialectRegistry &registry);

} // namespace farside

#endif
