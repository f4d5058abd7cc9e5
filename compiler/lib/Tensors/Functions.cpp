#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace farside {
#define GEN_PASS_DEF_TENSORFUNCTIONS
#define GEN_PASS_DEF_TENSORRESULTS
#include "Farside/Tensors/Passes.h.inc"

namespace {

/// Whether C knows by a pointer alone where each element is.
bool isKnown(Type type) {
  if (auto tensor = dyn_cast<TensorType>(type))
    return tensor.hasStaticShape();
  if (auto buffer = dyn_cast<BaseMemRefType>(type)) {
    auto ranked = dyn_cast<MemRefType>(type);
    return ranked && ranked.hasStaticShape() && ranked.getLayout().isIdentity();
  }
  return true;
}

struct TensorFunctions : impl::TensorFunctionsBase<TensorFunctions> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      for (ArrayRef<Type> types : {function.getArgumentTypes(), function.getResultTypes()})
        for (Type type : types)
          if (!isKnown(type)) {
            function.emitError() << "'" << function.getName() << "' takes or returns " << type
                                 << ", and C has to know where each element is; give it a shape";
            return signalPassFailure();
          }
      // There are pointers in the place of descriptors.
      function->removeAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName());
      if (function.isDeclaration())
        continue;
      if (function.isPrivate())
        function->setAttr("llvm.linkage", LLVM::LinkageAttr::get(&getContext(), LLVM::Linkage::Internal));
      else
        keepArguments(function);
    }
  }

private:
  void keepArguments(func::FuncOp function) {
    for (unsigned number = 0; number < function.getNumArguments(); ++number)
      if (isa<TensorType>(function.getArgument(number).getType()))
        function.setArgAttr(number, bufferization::BufferizationDialect::kWritableAttrName,
                            BoolAttr::get(&getContext(), false));
  }
};

struct TensorResults : impl::TensorResultsBase<TensorResults> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (unsigned number = 0; number < function.getNumArguments(); ++number) {
        if (!function.removeArgAttr(number, "bufferize.result"))
          continue;
        function.setArgAttr(number, LLVM::LLVMDialect::getNoAliasAttrName(), UnitAttr::get(&getContext()));
      }
  }
};

} // namespace
} // namespace farside
