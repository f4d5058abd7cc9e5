#ifndef FARSIDE_DIALECT_POINTER
#define FARSIDE_DIALECT_POINTER

include "mlir/IR/OpBase.td"

/// A pointer as the program has them, remote or plain.
def Farside_Pointer
    : Type<CPred<"::llvm::isa<::mlir::LLVM::LLVMPointerType>($_self) && "
                 "::llvm::cast<::mlir::LLVM::LLVMPointerType>($_self).getAddressSpace() == 0">,
           "pointer", "::mlir::LLVM::LLVMPointerType">,
      BuildableType<"::mlir::LLVM::LLVMPointerType::get($_builder.getContext())">;

#endif
