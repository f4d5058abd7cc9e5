#ifndef FARSIDE_DIALECT_RMEM
#define FARSIDE_DIALECT_RMEM

include "Farside/Dialect/Pointer.td"
include "mlir/IR/SymbolInterfaces.td"

def Rmem_Dialect : Dialect {
  let name = "rmem";
  let cppNamespace = "::farside::rmem";
  let summary = "What programs do with memory in sections";
  let description = [{
    A remote pointer is a number, the section in the top 8 bits and the place in it below, so that it is an `!llvm.ptr`
    as any other: elements are addressed, and pointers compared, stored and passed on, by the operations of the LLVM dialect.
    What this dialect has is what differs: coming to what is pointed to (thesis 6.1, 6.4). What is allocated in sections is
    of the dialect `remotable`.

    Values are loaded and stored as a whole (`load`, `store`), vectors as all others. Loops hold lines (`turns`, `hold`,
    `let_go`) and send for them (`ahead`, `done`); what is close together is looked up once (`here`). What the C library uses is
    lent to it (`borrow`, `give_back`). Of records only
    some fields may come and go (`select`, `select_all`). The rest is what a lookup consists of, one by one: `deref` is `fetch_if_not_in_cache`, `wait` and `paddr`.

    Every operation also takes plain pointers, and then does what the one of the LLVM dialect does. The section is that
    of the pointers that are remote. Operations are lowered by `farside-lower-remote` to calls of
    compiler/runtime/sections.c.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

class Rmem_Op<string mnemonic, list<Trait> traits = []> : Op<Rmem_Dialect, mnemonic, traits>;

/// An operation that works on pointers of one section.
class Rmem_InSection<string mnemonic> : Rmem_Op<mnemonic, [DeclareOpInterfaceMethods<SymbolUserOpInterface>]>;

def Rmem_CacheSectionOp : Rmem_Op<"cache_section", [Symbol]> {
  let summary = "A section of the program";
  let description = [{
    Its bytes of local memory, the bytes of a line, the lines of a set (1: direct; 0: all), and how many lines loops send
    for beforehand. What they find by indices and pointers is sent for `batch` by batch; if it has no number, each loop has
    its own. Of one with `keep` loops never say that they are through with a line. It may share its local memory `with` another section, which is not used at the same time. Of one that is
    `own` each thread has one: what is in it no other thread comes to. Of one with `copies` the main thread, which alone
    writes to it, has the section, and each other thread a copy. One that is `alone` only one thread uses, and no part of
    the program that is not compiled with this one: it is known when the program is compiled, and is asked nowhere.

    ```mlir
    rmem.cache_section @nodes capacity 67108864 line 128 ways 2 ahead 8
    rmem.cache_section @rows capacity 67108864 line 4096 ways 1 ahead 8 with @nodes
    rmem.cache_section @scratch capacity 1048576 line 128 ways 1 ahead 8 own
    rmem.cache_section @table capacity 1048576 line 128 ways 1 ahead 8 copies
    rmem.cache_section @queue capacity 1048576 line 128 ways 1 ahead 8 alone
    rmem.cache_section @states capacity 1048576 line 128 ways 2 ahead 8 batch 4 keep
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$capacity, I64Attr:$line, I32Attr:$ways, I64Attr:$ahead,
                       OptionalAttr<I64Attr>:$batch, UnitAttr:$keep, OptionalAttr<FlatSymbolRefAttr>:$with,
                       UnitAttr:$own, UnitAttr:$copies, UnitAttr:$alone);
  let assemblyFormat = [{
    $sym_name `capacity` $capacity `line` $line `ways` $ways `ahead` $ahead (`batch` $batch^)? (`keep` $keep^)?
    (`with` $with^)? (`own` $own^)? (`copies` $copies^)? (`alone` $alone^)?
    attr-dict
  }];
  let hasVerifier = 1;
}

def Rmem_LoadOp : Rmem_InSection<"load"> {
  let summary = "Load a value";
  let description = [{
    One that is `apart` is where something is missing, or lies across the end of a line: its lookup is a call, and makes the
    program no longer.
  }];
  let arguments = (ins FlatSymbolRefAttr:$section, Farside_Pointer:$pointer, I64Attr:$alignment, UnitAttr:$apart);
  let results = (outs AnyType:$value);
  let assemblyFormat = "$section `,` $pointer `align` $alignment (`apart` $apart^)? attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Rmem_StoreOp : Rmem_InSection<"store"> {
  let summary = "Store a value";
  let description = [{ As `rmem.load`. }];
  let arguments = (ins FlatSymbolRefAttr:$section, AnyType:$value, Farside_Pointer:$pointer, I64Attr:$alignment,
                       UnitAttr:$apart);
  let assemblyFormat = [{
    $section `,` $value `,` $pointer `align` $alignment (`apart` $apart^)? attr-dict `:` type($value)
  }];
  let hasVerifier = 1;
}

def Rmem_MoveOp : Rmem_Op<"move", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "memmove() from or to sections";
  let description = [{
    ```mlir
    rmem.move to @nodes %a, from %b, %size
    ```
  }];
  let arguments = (ins OptionalAttr<FlatSymbolRefAttr>:$to_section, OptionalAttr<FlatSymbolRefAttr>:$from_section,
                       Farside_Pointer:$to, Farside_Pointer:$from, I64:$size);
  let assemblyFormat = [{
    `to` ($to_section^)? $to `,` `from` ($from_section^)? $from `,` $size attr-dict
  }];
  let hasVerifier = 1;
}

def Rmem_FillOp : Rmem_InSection<"fill"> {
  let summary = "memset() in a section";
  let arguments = (ins FlatSymbolRefAttr:$section, Farside_Pointer:$to, I8:$byte, I64:$size);
  let assemblyFormat = "$section `,` $to `,` $byte `,` $size attr-dict";
}

def Rmem_BorrowOp : Rmem_InSection<"borrow"> {
  let summary = "Local memory in place of what a pointer leads to, for the time of a call";
  let description = [{
    `size` bytes, or `text`: all up to a zero byte, but no more than `size` if that is given. They are in their line, which
    is pinned, or are copied; always `copied` is what functions of the program come to. What is not remote is what it is.

    ```mlir
    %here = rmem.borrow @names %name text
    rmem.give_back @names %name, %here
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$section, Farside_Pointer:$pointer, Optional<I64>:$size, UnitAttr:$text,
                       UnitAttr:$copied);
  let results = (outs Farside_Pointer:$here);
  let assemblyFormat = "$section $pointer (`size` $size^)? (`text` $text^)? (`copied` $copied^)? attr-dict";
  let hasVerifier = 1;
}

def Rmem_GiveBackOp : Rmem_InSection<"give_back"> {
  let summary = "What was borrowed is no longer used; if so, `size` bytes of it were written";
  let arguments = (ins FlatSymbolRefAttr:$section, Farside_Pointer:$pointer, Farside_Pointer:$here, Optional<I64>:$size);
  let assemblyFormat = "$section $pointer `,` $here (`written` $size^)? attr-dict";
}

def Rmem_TurnsOp : Rmem_InSection<"turns"> {
  let summary = "How many turns of a loop one line lasts";
  let description = [{
    Each turn uses `size` bytes, the first one those at `pointer`, and each one those `stride` bytes on. 0 if already
    the first ones lie across the end of a line.
  }];
  let arguments = (ins FlatSymbolRefAttr:$section, Farside_Pointer:$pointer, I64Attr:$size, I64Attr:$stride);
  let results = (outs I64:$turns);
  let assemblyFormat = "$section `,` $pointer `size` $size `stride` $stride attr-dict";
  let hasVerifier = 1;
}

def Rmem_HoldOp : Rmem_InSection<"hold"> {
  let summary = "Keep a line here for some turns of a loop";
  let description = [{
    The result is the address, in local memory, of what the first turn uses, and is good until `rmem.let_go`. It is null
    if there are no turns, or if the line cannot be kept. `turns` is no more than `rmem.turns` says.
  }];
  let arguments = (ins FlatSymbolRefAttr:$section, Farside_Pointer:$pointer, I64:$turns, I64Attr:$size,
                       I64Attr:$stride, UnitAttr:$written);
  let results = (outs Farside_Pointer:$address);
  let assemblyFormat = [{
    $section `,` $pointer `,` $turns `size` $size `stride` $stride (`written` $written^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Rmem_LetGoOp : Rmem_InSection<"let_go"> {
  let summary = "No longer keep a line; of a null pointer nothing is made";
  let arguments = (ins FlatSymbolRefAttr:$section, Farside_Pointer:$address);
  let assemblyFormat = "$section `,` $address attr-dict";
}

def Rmem_ChangedOp : Rmem_InSection<"changed"> {
  let summary = "Something was written in a section of which other threads have copies";
  let description = [{
    Comes behind what is written by plain stores, where a line is held or looked up before, and before anything by which
    another thread could learn of it.
  }];
  let arguments = (ins FlatSymbolRefAttr:$section);
  let assemblyFormat = "$section attr-dict";
}

def Rmem_DoneOp : Rmem_InSection<"done"> {
  let summary = "A loop is through with what it has come to";
  let description = [{
    It has come from `pointer` on by `turns` turns of `stride` bytes, of `all` that it makes, and nothing comes back to that
    before it ends. If it has left a line by that, and goes through more than the section has room for, the line leaves
    before others.
  }];
  let arguments = (ins FlatSymbolRefAttr:$section, Farside_Pointer:$pointer, I64:$turns, I64:$all, I64Attr:$stride);
  let assemblyFormat = "$section `,` $pointer `,` $turns `of` $all `stride` $stride attr-dict";
}

def Rmem_FetchIfNotInCacheOp : Rmem_InSection<"fetch_if_not_in_cache"> {
  let summary = "Send for what will be used soon, if it is not here";
  let description = [{
    At once, or `together` with others when there are so many, at the latest when something is waited for.
  }];
  let arguments = (ins FlatSymbolRefAttr:$section, Farside_Pointer:$pointer,
                       DefaultValuedAttr<I64Attr, "1">:$together);
  let assemblyFormat = "$section `,` $pointer (`together` $together^)? attr-dict";
}

def Rmem_FollowOp : Rmem_InSection<"follow"> {
  let summary = "Send for what a pointer leads to that is stored in a section, and leads there";
  let description = [{
    Something close to the pointer has just been used. Nothing is fetched to know where it leads, and nothing is sent for if
    lately nothing was missing, or if other threads use the section.
  }];
  let arguments = (ins FlatSymbolRefAttr:$section, Farside_Pointer:$at);
  let assemblyFormat = "$section `,` $at attr-dict";
}

def Rmem_FetchOp : Rmem_InSection<"fetch"> {
  let summary = "Send for the lines of so many bytes, without waiting";
  let arguments = (ins FlatSymbolRefAttr:$section, Farside_Pointer:$pointer, I64:$size);
  let assemblyFormat = "$section `,` $pointer `,` $size attr-dict";
}

def Rmem_WaitOp : Rmem_InSection<"wait"> {
  let summary = "Wait until a line is here, and fetch it if nobody has";
  let arguments = (ins FlatSymbolRefAttr:$section, Farside_Pointer:$pointer);
  let assemblyFormat = "$section `,` $pointer attr-dict";
}

def Rmem_PaddrOp : Rmem_InSection<"paddr"> {
  let summary = "The address, in local memory, of bytes of one line";
  let description = [{
    It is good until the next operation of the section that may send for lines, or call. If no `rmem.wait` came before, this
    waits. If bytes are to be `written`, that is taken note of. Of a section that several threads use an address is good only
    while its line is held: see `rmem.hold`.
  }];
  let arguments = (ins FlatSymbolRefAttr:$section, Farside_Pointer:$pointer, I64Attr:$size, UnitAttr:$written);
  let results = (outs Farside_Pointer:$address);
  let assemblyFormat = "$section `,` $pointer `size` $size (`written` $written^)? attr-dict";
  let hasVerifier = 1;
}

def Rmem_DerefOp : Rmem_InSection<"deref"> {
  let summary = "Translate a remote pointer into an address in local memory";
  let description = [{
    As `rmem.paddr`, of what need not be here. `farside-expand-derefs` makes it `rmem.fetch_if_not_in_cache`, `rmem.wait` and
    `rmem.paddr`, so that the first of them can be moved to where the pointer is first known.
  }];
  let arguments = (ins FlatSymbolRefAttr:$section, Farside_Pointer:$pointer, I64Attr:$size, UnitAttr:$written);
  let results = (outs Farside_Pointer:$address);
  let assemblyFormat = "$section `,` $pointer `size` $size (`written` $written^)? attr-dict";
  let hasVerifier = 1;
}

def Rmem_FlushOp : Rmem_InSection<"flush"> {
  let summary = "Store what was written of so many bytes, and have their lines leave before others";
  let arguments = (ins FlatSymbolRefAttr:$section, Farside_Pointer:$pointer, I64:$size);
  let assemblyFormat = "$section `,` $pointer `,` $size attr-dict";
}

def Rmem_MissesOp : Rmem_InSection<"misses"> {
  let summary = "Whether it is worth sending for what will be used soon";
  let description = [{
    It is if lately something was missing that was used, or that was sent for by `rmem.fetch_if_not_in_cache`. To be asked
    once in a while.
  }];
  let arguments = (ins FlatSymbolRefAttr:$section);
  let results = (outs I1:$misses);
  let assemblyFormat = "$section attr-dict";
}

def Rmem_TurnsUntilHereOp : Rmem_InSection<"turns_until_here"> {
  let summary = "How many turns of a loop it takes until what is sent for is here";
  let description = [{
    By how long lines of the section take that are sent for, and how long the last `turns` took: they began at `since`, by
    `rmem.clock`; if that is 0, it goes by what is known of turns that came to the section before.
  }];
  let arguments = (ins FlatSymbolRefAttr:$section, I64:$since, I64Attr:$turns);
  let results = (outs I64:$ahead);
  let assemblyFormat = "$section `,` $since `turns` $turns attr-dict";
}

def Rmem_ClockOp : Rmem_Op<"clock"> {
  let summary = "The time, in nanoseconds since some moment";
  let results = (outs I64:$time);
  let assemblyFormat = "attr-dict";
}

def Rmem_HereOp : Rmem_InSection<"here"> {
  let summary = "The address of bytes, if they are here";
  let description = [{
    It is in local memory, and good until the next operation of a section or call. It is null if the bytes are not here, or
    lie across the end of a line, or if other threads use the section; nothing is fetched. If they are to be `written`, that
    is taken note of.
  }];
  let arguments = (ins FlatSymbolRefAttr:$section, Farside_Pointer:$pointer, I64Attr:$size, UnitAttr:$written);
  let results = (outs Farside_Pointer:$address);
  let assemblyFormat = "$section `,` $pointer `size` $size (`written` $written^)? attr-dict";
}

def Rmem_PeekOp : Rmem_InSection<"peek"> {
  let summary = "The address of bytes that may be none, if they are here";
  let description = [{
    As `rmem.here`, of a pointer that nobody may ever follow: it may be any number. It is null if it leads elsewhere.
  }];
  let arguments = (ins FlatSymbolRefAttr:$section, Farside_Pointer:$pointer, I64Attr:$size);
  let results = (outs Farside_Pointer:$address);
  let assemblyFormat = "$section `,` $pointer `size` $size attr-dict";
}

def Rmem_SelectOp : Rmem_InSection<"select"> {
  let summary = "Have only some fields of records come and go";
  let description = [{
    Records of `record` bytes lie side by side from the start of each line. Of each only `fields`, pairs of a start and a
    length, come with a line, and go, until `rmem.select_all` is given the result; nothing else of the section is used
    meanwhile. What is here is stored and leaves. The result is null where that is not done, or not worth its while.

    ```mlir
    %selected = rmem.select @nodes record 128 fields [8, 8, 32, 4]
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$section, I64Attr:$record, DenseI32ArrayAttr:$fields);
  let results = (outs Farside_Pointer:$selected);
  let assemblyFormat = "$section `record` $record `fields` $fields attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// On a call, before it is one of these: what there is of each record, and what is selected of it.
    static constexpr ::llvm::StringLiteral recordName = "rmem.record", fieldsName = "rmem.fields";
  }];
}

def Rmem_SelectAllOp : Rmem_InSection<"select_all"> {
  let summary = "Have everything come and go again";
  let description = [{ Of a null pointer nothing is made. What was written of the fields is stored, and leaves. }];
  let arguments = (ins FlatSymbolRefAttr:$section, Farside_Pointer:$selected);
  let assemblyFormat = "$section `,` $selected attr-dict";
}

def Rmem_AheadOp : Rmem_InSection<"ahead"> {
  let summary = "Send for the lines that a loop comes to";
  let description = [{
    The loop is at `pointer`, has `turns` to go, and takes `stride` bytes with each. At its `start` all lines are sent
    for that the section's `ahead` says, and then the one that is so far away.
  }];
  let arguments = (ins FlatSymbolRefAttr:$section, Farside_Pointer:$pointer, I64:$turns, I1:$start, I64Attr:$size,
                       I64Attr:$stride);
  let assemblyFormat = [{
    $section `,` $pointer `,` $turns `start` $start `size` $size `stride` $stride attr-dict
  }];
  let hasVerifier = 1;
}

#endif
