#ifndef FARSIDE_REMOTE_LIBRARYCALL_H
#define FARSIDE_REMOTE_LIBRARYCALL_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>

namespace llvm {
class CallBase;
class Function;
class InvokeInst;
} // namespace llvm

namespace farside {

/// Memory that a function of the C library uses until it returns: it can be lent some that is local.
struct Borrow {
  static constexpr int32_t none = -1;

  /// The argument that leads to it.
  int32_t argument = none;
  /// How long it is: by an argument, or by the product of two. Of text, the most that is looked at, if there is such.
  int32_t length = none, factor = none;
  /// Whether it ends with a zero byte.
  bool isText = false;
  bool isWritten = false;
  /// Whether pointers to what is lent come to functions of the program, which take those into a line for others.
  bool isCopied = false;
  /// How long it is if no argument says so, and it is no text.
  int32_t size = 0;
};

/// What a call of the C library does with memory that its arguments lead to.
struct LibraryCall {
  /// What becomes of bytes that may be parts of pointers.
  enum Content { stays, leaves, comes };

  /// At most two, in the order in which they are written and read.
  llvm::SmallVector<Borrow, 2> borrows;
  /// The argument into whose memory the result leads.
  int32_t returned = Borrow::none;
  Content content = stays;
  /// A function of the program that is called meanwhile, with pointers into what the first argument leads to.
  const llvm::Function *callback = nullptr;
  /// Texts beyond those two, which it reads, too.
  llvm::SmallVector<Borrow, 0> others = {};
  /// The argument to whose memory it writes a pointer to what it has allocated.
  int32_t made = Borrow::none;
  /// The argument that is what the callback is passed later.
  int32_t handed = Borrow::none;

  const Borrow *of(unsigned argument) const;
};

/// What a call does, if it is of a function that keeps no pointers, and that is known here; of one that takes a format, if
/// that is known, too.
std::optional<LibraryCall> libraryCallOf(const llvm::CallBase &call);
/// The same of one that an exception may leave, as far as is known.
std::optional<LibraryCall> libraryCallOf(const llvm::InvokeInst &call);

/// The program's function that a call of the C library calls.
const llvm::Function *callbackOf(const llvm::CallBase &call);

} // namespace farside

#endif
