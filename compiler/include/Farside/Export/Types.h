#ifndef FARSIDE_EXPORT_TYPES_H
#define FARSIDE_EXPORT_TYPES_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

namespace llvm {
class Function;
class Module;
class StructType;
} // namespace llvm

namespace farside {

/// The structures that a module had before it went to MLIR, from which they come back under other names.
class OriginalTypes : private llvm::ValueMapTypeRemapper {
public:
  explicit OriginalTypes(const llvm::Module &module);

  /// Has a function that came from MLIR use the module's own structures.
  void restore(llvm::Function &function);

private:
  llvm::Type *remapType(llvm::Type *type) override;
  llvm::Type *remapStruct(llvm::StructType *type);

  llvm::StringMap<llvm::StructType *> byName;
};

} // namespace farside

#endif
