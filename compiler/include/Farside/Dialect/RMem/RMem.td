#ifndef FARSIDE_DIALECT_RMEM
#define FARSIDE_DIALECT_RMEM

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def RMem_Dialect : Dialect {
  let name = "rmem";
  let cppNamespace = "::farside::rmem";
  let summary = "Remote memory, and the sections of local memory that cache it";
  let description = [{
    A remote pointer is an address on a memory node, with the number of its cache section in its highest 8 bits.
    Programs work on remote pointers as on others; what is behind them is reached through the section.

    There are two levels. `rmem.load`, `rmem.store`, `rmem.element_address` and the forms for vectors say what the program
    does. `rmem.deref`, `rmem.fetch`, `rmem.fetch_if_not_in_cache`, `rmem.wait`, `rmem.paddr`, `rmem.line`, `rmem.pin`,
    `rmem.unpin` and `rmem.flush` say how it is done: lines are sent for, waited for, and used in place.
  }];
  let useDefaultTypePrinterParser = 1;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def RMem_Ref : TypeDef<RMem_Dialect, "Ref"> {
  let summary = "A remote pointer";
  let description = [{
    `!rmem.ref<T>` points to a `T` in remote memory, `!rmem.ref` to something of which no more is known: pointers in LLVM
    do not tell what they point to.
  }];
  let mnemonic = "ref";
  let parameters = (ins OptionalParameter<"::mlir::Type">:$pointee);
  let assemblyFormat = "(`<` $pointee^ `>`)?";
}

/// A pointer to where a line is in local memory.
def RMem_Local : Type<CPred<"::mlir::isa<::mlir::LLVM::LLVMPointerType>($_self)">, "pointer of the LLVM dialect",
                      "::mlir::LLVM::LLVMPointerType">;

def RMem_Value : Type<CPred<"::mlir::LLVM::isLoadableType($_self) || ::mlir::isa<::farside::rmem::RefType>($_self)">,
                      "a value that memory can hold">;

#endif
