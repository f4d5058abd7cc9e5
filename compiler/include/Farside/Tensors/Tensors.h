#ifndef FARSIDE_TENSORS_TENSORS_H
#define FARSIDE_TENSORS_TENSORS_H

namespace mlir {
class DialectRegistry;
class ModuleOp;
} // namespace mlir

namespace farside {

/// The pipeline from tensors to the LLVM dialect.
inline constexpr char tensorPipeline[] = "farside-tensors";

/// The dialects that tensor compilers write, and all that is needed to lower them.
void registerTensorDialects(mlir::DialectRegistry &registry);

/// Enters the passes of MLIR, those of this library, and the pipeline of them.
void registerTensorPasses();

/// Gives functions and operations of the LLVM dialect their places in the source, as debug information.
bool addLineTables(mlir::ModuleOp module);

} // namespace farside

#endif
