// Containers of the C++ library are compiled with the program, as they are templates; what balances their trees and links
// their lists is not. Of what the library has compiled, too, the program uses its own all the same.

#include "Farside/Remote/Containers.h"

#include "Farside/Remote/Support.h"
#include "Sites.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace farside {
namespace {

constexpr StringLiteral ownSuffix = ".own", forOthers = "farside.others";

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

/// Whether a function is a template's or inline, of the C++ library, and known outside since the library has it, too: all
/// that have it have the same.
bool isCommon(const Function &function) {
  static constexpr StringLiteral starts[] = {"_ZNSt", "_ZNKSt", "_ZSt"};
  return !function.isDeclaration() && (function.hasWeakODRLinkage() || function.hasLinkOnceODRLinkage()) &&
         any_of(starts, [&](StringRef start) { return function.getName().starts_with(start); });
}

/// A copy that only this program calls.
Function *copyInside(Function &function) {
  ValueToValueMapTy map;
  Function *copy = CloneFunction(&function, map);
  copy->setName(function.getName() + ownSuffix);
  copy->setLinkage(GlobalValue::InternalLinkage);
  copy->setVisibility(GlobalValue::DefaultVisibility);
  copy->setComdat(nullptr);
  return copy;
}

} // namespace

void copyCommon(Module &module) {
  SmallSetVector<Function *, 16> originals;
  for (Function &function : module)
    if (isCommon(function))
      originals.insert(&function);
  // Copies call one another only when all are there.
  SmallVector<Function *> copies;
  for (Function *original : originals)
    copies.push_back(copyInside(*original));
  for (auto [original, copy] : zip(originals, copies)) {
    // What others call goes on with what others call.
    original->replaceUsesWithIf(copy, [&](const Use &use) {
      auto *call = dyn_cast<CallBase>(use.getUser());
      return call && call->isCallee(&use) && !originals.contains(call->getFunction());
    });
    forgetSites(*original);
    original->addFnAttr(forOthers);
  }
}

bool isForOthers(const Function &function) { return function.hasFnAttribute(forOthers); }

StringRef commonName(const Function &function) {
  StringRef name = function.getName();
  name.consume_back(ownSuffix);
  return name;
}

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
