#include "Farside/Plugin/Marking.h"

#include "Farside/Remote/Containers.h"
#include "Farside/Remote/Plan.h"
#include "Farside/Remote/TextCopies.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

#include <vector>

using namespace llvm;

namespace farside {

SectionFile readSectionsOf(StringRef path, bool isProfiled) {
  if (path.empty())
    return {};
  SectionFile file = readSectionFile(path.str());
  if (isProfiled)
    for (SectionSpec &section : file.sections)
      section.own = section.copies = false;
  return file;
}

void fail(Module &module, const SectionFile &file, const SectionFileError &error) {
  errs() << file.show(error) << '\n';
  module.getContext().emitError("the section file does not fit the program");
}

void markUnit(Module &module, const SectionFile &file, bool isLinked) {
  std::vector<SectionFileError> errors = file.errors;
  takeDuplicatesApart(module);
  markStrings(module);
  if (errors.empty())
    markSites(module, file, isLinked, errors);
  markOffloaded(module, file);
  for (const SectionFileError &error : errors)
    fail(module, file, error);
}

} // namespace farside
