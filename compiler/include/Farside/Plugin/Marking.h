#ifndef FARSIDE_PLUGIN_MARKING_H
#define FARSIDE_PLUGIN_MARKING_H

#include "Farside/Sections/SectionFile.h"
#include "llvm/ADT/StringRef.h"

namespace llvm {
class Module;
} // namespace llvm

namespace farside {

/// The section file at a path. farside-cc has read it and found nothing wrong with it. Without a path no section is there.
/// Of a program that `isProfiled` each section is one that all threads use, which is what lookups are counted by.
SectionFile readSectionsOf(llvm::StringRef path, bool isProfiled);

/// Has the compiler fail, with the place in the section file that does not fit the program.
void fail(llvm::Module &module, const SectionFile &file, const SectionFileError &error);

/// Marks what the section file names in a unit as the source has it: nothing is inlined yet. `isLinked`: it is converted when
/// it is linked.
void markUnit(llvm::Module &module, const SectionFile &file, bool isLinked);

} // namespace farside

#endif
