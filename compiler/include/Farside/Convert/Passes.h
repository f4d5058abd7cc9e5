#ifndef FARSIDE_CONVERT_PASSES_H
#define FARSIDE_CONVERT_PASSES_H

#include "llvm/ADT/StringRef.h"

namespace farside {

/// The attributes that tell `farside-to-remote` what to convert; see Passes.td.
inline constexpr llvm::StringLiteral inSection = "rmem.in";
inline constexpr llvm::StringLiteral fromSection = "rmem.from";

/// What the language says of the type of what a load or store of `rmem` accesses, as long as loops may become one.
inline constexpr llvm::StringLiteral typeOfAccess = "rmem.type";
/// Of loops that were made of two.
inline constexpr llvm::StringLiteral fusedLoop = "rmem.fused";
/// Of loops that take several turns of another together: how many.
inline constexpr llvm::StringLiteral jammedLoop = "rmem.jammed";
/// On a call that allocates for a section: what its address is to be a multiple of.
inline constexpr llvm::StringLiteral atMultiple = "rmem.at";

/// On a call of the C library, four numbers for the memory that is in `rmem.in`, and for that in `rmem.from`: the argument, the
/// arguments of its length, or -1, and what it is; and the argument into whose memory the result leads.
inline constexpr llvm::StringLiteral borrowsOfCall = "rmem.borrows";
inline constexpr llvm::StringLiteral returnsInto = "rmem.returns";
/// Bits of what it is.
inline constexpr int32_t borrowsText = 1, borrowsToWrite = 2, borrowsCopy = 4;
/// Above them is how long it is, if no argument says so.
inline constexpr unsigned borrowsSizeShift = 8;

/// What the names of a program's sections begin with, so that they are no names of anything else.
inline constexpr llvm::StringLiteral symbolPrefix = "rmem.section.";
/// The name that a program knows a section by.
inline constexpr llvm::StringLiteral sectionPrefix = "farside.section.";

/// The names of what all threads know of a section with copies, and of what each knows of its own.
inline constexpr llvm::StringLiteral copiedPrefix = "farside.copied.", copyPrefix = "farside.copy.";
/// Bytes of `struct farside_rt_copied` and of `struct farside_rt_copy`.
inline constexpr unsigned copiedBytes = 64, copyBytes = 32;

/// What is done to a program that has sections, in passes of farside-opt: what makes it use them, what holds lines and sends
/// for them, what spares lookups, and what brings it back.
inline constexpr llvm::StringLiteral conversion = "farside-to-remote,farside-structure,farside-fuse-loops,farside-jam-loops";
inline constexpr llvm::StringLiteral holding = "farside-hold-lines,farside-send-ahead,farside-chase-pointers";
inline constexpr llvm::StringLiteral sharing = "farside-share-lookups";
inline constexpr llvm::StringLiteral lowering = "farside-unstructure,farside-lower-remote";

/// Enters the passes that make programs use sections.
void registerConvertPasses();

} // namespace farside

#endif
