#ifndef FARSIDE_REMOTE_HEAPCALL_H
#define FARSIDE_REMOTE_HEAPCALL_H

#include "llvm/ADT/StringRef.h"
#include <optional>

namespace llvm {
class CallBase;
class Value;
} // namespace llvm

namespace farside {

/// How a call allocates, or what it does with what was allocated, as far as it can be converted: functions of the C
/// library, and `operator new` and `operator delete` unless the program has its own. `aligned` is as aligned_alloc(), and
/// `alignedAt` as posix_memalign(), which stores the pointer where its first argument says.
enum class HeapCall { no, malloc, calloc, realloc, aligned, alignedAt, free, create, destroy };
HeapCall heapCallOf(const llvm::CallBase &call);

/// Whether it allocates.
bool allocates(const llvm::CallBase &call);
/// Whether a pointer may lead to what is allocated.
bool mayBeAllocated(const llvm::Value *pointer);
/// Whether a function by this name is `operator new` or `operator delete`.
bool isCreating(llvm::StringRef name);
bool isDestroying(llvm::StringRef name);

/// Which arguments of a function by this name are the size and the alignment of what it allocates, if it takes both.
struct AlignedSize {
  unsigned size, alignment;
};
std::optional<AlignedSize> alignedSizeOf(llvm::StringRef name);

} // namespace farside

#endif
