#ifndef FARSIDE_REMOTE_SPECIALIZE_H
#define FARSIDE_REMOTE_SPECIALIZE_H

#include "llvm/ADT/ArrayRef.h"

namespace llvm {
class CallBase;
class Module;
} // namespace llvm

namespace farside {

struct SectionFile;

/// Gives callers whose pointers lead to different sections, or to what nobody may convert, a function of their own each, as far
/// as more goes to sections then (thesis 6.2). Sites have to be marked; nothing is done if all go anyhow.
void specialize(llvm::Module &module, const SectionFile &file);

/// A call that allocates, and the number of the section that it is for. Each thread may have such a section of its `own`, to
/// which nothing goes that other threads may come to.
struct Destined {
  llvm::CallBase *call;
  unsigned section;
  bool own = false;
};

/// The same for such calls, which may have no marks.
void specialize(llvm::Module &module, llvm::ArrayRef<Destined> sites);

} // namespace farside

#endif
