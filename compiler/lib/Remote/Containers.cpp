// Containers of the C++ library are compiled with the program, as they are templates; what balances their trees and links
// their lists is not.

#include "Farside/Remote/Containers.h"

#include "Farside/Remote/Support.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace farside {
namespace {

/// Programs without containers do not have all of it read.
bool callsSome(const Module &module) {
  static constexpr StringLiteral starts[] = {"_ZSt18_Rb_tree_", "_ZSt28_Rb_tree_", "_ZSt29_Rb_tree_",
                                             "_ZNSt8__detail15_List_node_base"};
  return any_of(module, [&](const Function &function) {
    return function.isDeclaration() && !function.use_empty() &&
           any_of(starts, [&](StringRef start) { return function.getName().starts_with(start); });
  });
}

/// Other libraries go on with what the C++ library has.
void keepInside(Module &module, const StringSet<> &names) {
  for (const auto &name : names) {
    GlobalValue *value = module.getNamedValue(name.getKey());
    if (!value || value->isDeclaration())
      continue;
    value->setVisibility(GlobalValue::DefaultVisibility);
    value->setDSOLocal(true);
    value->setLinkage(GlobalValue::InternalLinkage);
    if (auto *function = dyn_cast<Function>(value))
      function->setComdat(nullptr);
  }
}

} // namespace

std::string defineContainers(Module &module, const MemoryBuffer &bitcode) {
  if (!callsSome(module))
    return "";
  auto library = parseBitcodeFile(bitcode.getMemBufferRef(), module.getContext());
  if (!library)
    return toString(library.takeError());
  suit(**library, module);
  bool failed = Linker::linkModules(module, std::move(*library), Linker::Flags::LinkOnlyNeeded, keepInside);
  return failed ? "it cannot be linked with what containers of the C++ library call" : "";
}

} // namespace farside
