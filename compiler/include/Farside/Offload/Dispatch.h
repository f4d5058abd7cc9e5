#ifndef FARSIDE_OFFLOAD_DISPATCH_H
#define FARSIDE_OFFLOAD_DISPATCH_H

#include "Farside/Offload/Image.h"
#include "Farside/Sections/SectionFile.h"

namespace farside {

/// Has calls of functions that can run elsewhere ask the runtime where they are to run, as what `image` holds or here. The
/// functions stay, for when it is here.
void addDispatch(llvm::Module &module, const SectionFile &file, llvm::ArrayRef<Offloaded> functions,
                 llvm::StringRef image);

} // namespace farside

#endif
