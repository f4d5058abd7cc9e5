#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace farside {
#define GEN_PASS_DEF_FINDUNTYPED
#define GEN_PASS_DEF_TYPEACCESSES
#include "Farside/Tensors/Passes.h.inc"

namespace {

constexpr StringLiteral untyped = "farside.untyped";

struct FindUntyped : impl::FindUntypedBase<FindUntyped> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      bool isFree = isa<memref::ViewOp>(op) || isa_and_present<LLVM::LLVMDialect>(op->getDialect());
      if (isFree)
        getOperation()->setAttr(untyped, UnitAttr::get(&getContext()));
      return isFree ? WalkResult::interrupt() : WalkResult::advance();
    });
  }
};

/// What C calls a type, as clang writes it; empty if it may be anything.
StringRef nameInC(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    type = vector.getElementType();
  if (type.isF32())
    return "float";
  if (type.isF64())
    return "double";
  if (type.isInteger(64))
    return "long";
  if (type.isInteger(32))
    return "int";
  if (type.isInteger(16))
    return "short";
  return {};
}

struct TypeAccesses : impl::TypeAccessesBase<TypeAccesses> {
  void runOnOperation() override {
    if (getOperation()->removeAttr(untyped))
      return;
    getOperation().walk([&](Operation *op) {
      if (auto load = dyn_cast<LLVM::LoadOp>(op))
        tag(load, load.getType());
      else if (auto store = dyn_cast<LLVM::StoreOp>(op))
        tag(store, store.getValue().getType());
    });
  }

private:
  void tag(LLVM::AliasAnalysisOpInterface access, Type type) {
    StringRef name = nameInC(type);
    if (name.empty() || access.getTBAATagsOrNull())
      return;
    auto *context = &getContext();
    auto root = LLVM::TBAARootAttr::get(context, StringAttr::get(context, "Simple C/C++ TBAA"));
    auto character = LLVM::TBAATypeDescriptorAttr::get(context, "omnipotent char", LLVM::TBAAMemberAttr::get(root, 0));
    auto scalar = LLVM::TBAATypeDescriptorAttr::get(context, name, LLVM::TBAAMemberAttr::get(character, 0));
    access.setTBAATags(ArrayAttr::get(context, {LLVM::TBAATagAttr::get(scalar, scalar, 0)}));
  }
};

} // namespace
} // namespace farside
