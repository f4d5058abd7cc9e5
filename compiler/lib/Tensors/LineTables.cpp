#include "Farside/Tensors/Tensors.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace farside {
namespace {

/// The first place in the source that a location has; several would be none.
LocationAttr placeIn(LocationAttr location) {
  LocationAttr place = UnknownLoc::get(location.getContext());
  Location(location)->walk([&](Location inner) {
    if (!isa<FileLineColLoc>(inner))
      return WalkResult::advance();
    place = inner;
    return WalkResult::interrupt();
  });
  return place;
}

/// Files are named as they were given, like those that clang compiles.
void nameFiles(ModuleOp module) {
  SmallString<128> directory;
  if (llvm::sys::fs::current_path(directory))
    return;
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](LLVM::DIFileAttr file) -> std::optional<Attribute> {
    SmallString<128> path(file.getDirectory().getValue());
    llvm::sys::path::append(path, file.getName().getValue());
    return LLVM::DIFileAttr::get(module.getContext(), path, directory);
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/true);
}

} // namespace

bool addLineTables(ModuleOp module) {
  module.walk([](Operation *op) { op->setLoc(placeIn(op->getLoc())); });
  PassManager manager(module.getContext());
  manager.addPass(LLVM::createDIScopeForLLVMFuncOpPass());
  if (failed(manager.run(module)))
    return false;
  nameFiles(module);
  return true;
}

} // namespace farside
