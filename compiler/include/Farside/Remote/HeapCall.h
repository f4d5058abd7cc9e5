#ifndef FARSIDE_REMOTE_HEAPCALL_H
#define FARSIDE_REMOTE_HEAPCALL_H

#include "llvm/ADT/StringRef.h"

namespace llvm {
class CallBase;
} // namespace llvm

namespace farside {

/// How a call allocates, or what it does with what was allocated, as far as it can be converted: functions of the C
/// library, and `operator new` and `operator delete` unless the program has its own.
enum class HeapCall { no, malloc, calloc, realloc, free, create, destroy };
HeapCall heapCallOf(const llvm::CallBase &call);

/// Whether it allocates.
bool allocates(const llvm::CallBase &call);
/// Whether a function by this name is `operator new` or `operator delete` of what has no alignment of its own.
bool isCreating(llvm::StringRef name);
bool isDestroying(llvm::StringRef name);

} // namespace farside

#endif
