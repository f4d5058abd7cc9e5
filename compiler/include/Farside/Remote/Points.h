#ifndef FARSIDE_REMOTE_POINTS_H
#define FARSIDE_REMOTE_POINTS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace llvm {
class Function;
class GlobalValue;
class Module;
} // namespace llvm

namespace farside {

/// The function that makes a thread's copies of sections with such bits as new as they have to be. addSupport() fills it
/// in.
inline constexpr llvm::StringLiteral renewCopies = "farside.renew";

/// Has functions of a copy of a module, that read sections through copies, renew these behind everything by which they
/// may learn of what other threads have done: calls of what is not compiled here, atomic operations, fences, and volatile
/// loads. `originals` are what names in the copy stand for, and `bitsOf` are the sections with copies of a function that
/// other threads than the main one may run.
void markPoints(llvm::Module &copy, const llvm::StringMap<llvm::GlobalValue *> &originals,
                llvm::function_ref<uint64_t(const llvm::Function &)> bitsOf);

} // namespace farside

#endif
