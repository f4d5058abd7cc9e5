#ifndef FARSIDE_LIB_REMOTE_RECORDS_H
#define FARSIDE_LIB_REMOTE_RECORDS_H

#include "Offsets.h"
#include "llvm/ADT/StringRef.h"
#include <utility>

namespace farside {

/// Bytes that are used behind a pointer; 0: nobody knows how many.
struct Touch {
  Offset offset;
  uint64_t size;
};

/// Records that lie side by side, and what of each is used.
struct Records {
  uint64_t length = 0;
  /// Start and length of each field, in order.
  llvm::SmallVector<std::pair<uint32_t, uint32_t>> fields;
  /// Why it makes no sense to know; empty if it does.
  llvm::StringRef why;
};

/// The records that what is used is part of, of at most so many bytes, a power of two.
Records recordsOf(llvm::ArrayRef<Touch> touches, uint64_t longest);

} // namespace farside

#endif
