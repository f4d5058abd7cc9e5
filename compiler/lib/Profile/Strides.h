#ifndef FARSIDE_LIB_PROFILE_STRIDES_H
#define FARSIDE_LIB_PROFILE_STRIDES_H

#include "llvm/IR/PassManager.h"
#include <cstdint>
#include <optional>

namespace llvm {
class Instruction;
class Value;
} // namespace llvm

namespace farside {

/// How an access goes on from turn to turn of the innermost loop that it is in.
struct Stride {
  bool isInLoop = false;
  /// Bytes, if that is a constant.
  std::optional<int64_t> bytes;
};
Stride strideOf(llvm::Instruction &access, llvm::Value &pointer, llvm::FunctionAnalysisManager &analyses);

} // namespace farside

#endif
