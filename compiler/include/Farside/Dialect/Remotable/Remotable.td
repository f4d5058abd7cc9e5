#ifndef FARSIDE_DIALECT_REMOTABLE
#define FARSIDE_DIALECT_REMOTABLE

include "Farside/Dialect/Pointer.td"
include "mlir/IR/SymbolInterfaces.td"

def Remotable_Dialect : Dialect {
  let name = "remotable";
  let cppNamespace = "::farside::remotable";
  let summary = "What can be elsewhere: objects in sections, and functions where their data is";
  let description = [{
    Objects are allocated in a section of the dialect `rmem`, and freed (thesis 6.1, 6.3). What is allocated is a remote
    pointer, or a plain one where the section has no room.

    A function with the attribute `remotable.offload` can run at the memory node (thesis 5.6, 6.5): whoever calls it asks the
    runtime where it is to run.

    ```mlir
    rmem.cache_section @rows capacity 67108864 line 4096 ways 1 ahead 8
    llvm.func @total(%rows: !llvm.ptr, %count: i64) -> f64 attributes {remotable.offload} { ... }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Of functions that can run where their data is.
    static constexpr ::llvm::StringLiteral offload = "remotable.offload";
  }];
}

class Remotable_Op<string mnemonic, list<Trait> traits = []> : Op<Remotable_Dialect, mnemonic, traits>;

/// An operation on what is allocated in one section.
class Remotable_InSection<string mnemonic>
    : Remotable_Op<mnemonic, [DeclareOpInterfaceMethods<SymbolUserOpInterface>]>;

def Remotable_AllocOp : Remotable_InSection<"alloc"> {
  let summary = "malloc() in a section";
  let description = [{
    For fields of its records to be selected, what it returns may have to be `at` a multiple of a number of bytes, which is a
    power of two.
  }];
  let arguments = (ins FlatSymbolRefAttr:$section, I64:$size, OptionalAttr<I64Attr>:$at);
  let results = (outs Farside_Pointer:$pointer);
  let assemblyFormat = "$section `,` $size (`at` $at^)? attr-dict";
}

def Remotable_TryAllocOp : Remotable_InSection<"try_alloc"> {
  let summary = "Memory in a section, or null if it has no room";
  let description = [{
    For `operator new`, which is called then: it throws if there is no other memory either. What an alignment is asked for
    is at a multiple of so many bytes; null also if that is no power of two, or more than there can be in a section.
  }];
  let arguments = (ins FlatSymbolRefAttr:$section, I64:$size, Optional<I64>:$alignment);
  let results = (outs Farside_Pointer:$pointer);
  let assemblyFormat = "$section `,` $size (`align` $alignment^)? attr-dict";
}

def Remotable_AllocZeroedOp : Remotable_InSection<"alloc_zeroed"> {
  let summary = "calloc() in a section";
  let description = [{ As `remotable.alloc`. }];
  let arguments = (ins FlatSymbolRefAttr:$section, I64:$count, I64:$each, OptionalAttr<I64Attr>:$at);
  let results = (outs Farside_Pointer:$pointer);
  let assemblyFormat = "$section `,` $count `,` $each (`at` $at^)? attr-dict";
}

def Remotable_ReallocOp : Remotable_InSection<"realloc"> {
  let summary = "realloc() of a pointer that may be of a section, which the result is of, too";
  let description = [{ As `remotable.alloc`. }];
  let arguments = (ins FlatSymbolRefAttr:$section, Farside_Pointer:$old, I64:$size, OptionalAttr<I64Attr>:$at);
  let results = (outs Farside_Pointer:$pointer);
  let assemblyFormat = "$section `,` $old `,` $size (`at` $at^)? attr-dict";
}

def Remotable_ReleaseOp : Remotable_InSection<"release"> {
  let summary = "Free what is in a section";
  let description = [{
    What is not comes back and is for the program's own `free`; else a null pointer does, of which `free` makes nothing.
  }];
  let arguments = (ins FlatSymbolRefAttr:$section, Farside_Pointer:$pointer);
  let results = (outs Farside_Pointer:$plain);
  let assemblyFormat = "$section `,` $pointer attr-dict";
}

#endif
