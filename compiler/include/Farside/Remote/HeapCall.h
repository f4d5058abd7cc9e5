#ifndef FARSIDE_REMOTE_HEAPCALL_H
#define FARSIDE_REMOTE_HEAPCALL_H

namespace llvm {
class CallBase;
} // namespace llvm

namespace farside {

/// How a call allocates, or what it does with what was allocated, as far as it can be converted.
enum class HeapCall { no, malloc, calloc, realloc, free };
HeapCall heapCallOf(const llvm::CallBase &call);

} // namespace farside

#endif
