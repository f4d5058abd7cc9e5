#ifndef FARSIDE_REMOTE_TEXTCOPIES_H
#define FARSIDE_REMOTE_TEXTCOPIES_H

namespace llvm {
class Module;
} // namespace llvm

namespace farside {

/// Takes apart calls of the C library that copy from one memory to another (`strcpy`, `stpcpy`, `strcat`, `mempcpy`), where one of
/// the two may be in a section: into what looks for lengths, which is lent a text, and a copy, which goes from line to line.
void takeTextCopiesApart(llvm::Module &module);

/// Has `sprintf` print to memory of its own, from which the text is copied, where what it prints to may be in a section: how
/// long it is is known only then.
void printApart(llvm::Module &module);

/// Takes apart calls that allocate a copy of a text (`strdup`, `strndup`), into what looks for its length, `malloc` and a
/// copy: what they allocate is a site as any other.
void takeDuplicatesApart(llvm::Module &module);

} // namespace farside

#endif
