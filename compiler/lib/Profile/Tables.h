#ifndef FARSIDE_LIB_PROFILE_TABLES_H
#define FARSIDE_LIB_PROFILE_TABLES_H

#include "Farside/Sections/SectionFile.h"
#include "llvm/ADT/ArrayRef.h"

namespace llvm {
class Constant;
class Function;
class Module;
} // namespace llvm

namespace farside {

/// What a module enters when the program starts: its functions that are timed, and its sites.
struct Tables {
  /// An entry for each function, and for each site.
  std::vector<llvm::Constant *> functions, sites;
};
Tables addTables(llvm::Module &module, llvm::ArrayRef<llvm::Function *> functions, llvm::ArrayRef<SiteName> sites);

} // namespace farside

#endif
