#ifndef FARSIDE_REMOTE_TEXTCOPIES_H
#define FARSIDE_REMOTE_TEXTCOPIES_H

namespace llvm {
class Module;
} // namespace llvm

namespace farside {

/// Takes apart calls of the C library that copy from one memory to another (`strcpy`, `stpcpy`, `strcat`, `mempcpy`), where one of
/// the two may be in a section: into what looks for lengths, which is lent a text, and a copy, which goes from line to line.
void takeTextCopiesApart(llvm::Module &module);

} // namespace farside

#endif
