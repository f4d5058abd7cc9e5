#ifndef FARSIDE_CONVERT_PASSES
#define FARSIDE_CONVERT_PASSES

include "mlir/Pass/PassBase.td"

def ToRemote : Pass<"farside-to-remote", "mlir::ModuleOp"> {
  let summary = "Turn marked operations into those of rmem";
  let description = [{
    What may come to remote memory becomes operations of `rmem`, and what allocates and frees it those of `remotable`. It
    has the attribute `rmem.in`, which names the section: allocations, loads, stores, calls of `free` and `realloc`, and the
    intrinsics that copy and fill. Of the latter, `rmem.from` names the section of what is read; of allocations, `rmem.at`
    tells what their addresses are multiples of. Calls of `farside.select`, with the attributes `rmem.record` and
    `rmem.fields`, and of `farside.select_all` become `rmem.select` and `rmem.select_all`. What cannot be turned is an error:
    the program would be wrong.
  }];
  let dependentDialects = ["::farside::remotable::RemotableDialect", "::farside::rmem::RmemDialect",
                           "mlir::LLVM::LLVMDialect"];
}

def FuseLoops : Pass<"farside-fuse-loops", "mlir::ModuleOp"> {
  let summary = "Make one loop of two that go through sections";
  let description = [{
    Two `scf.for` of the same number of turns, one behind the other, that both go through lines which can be held, become one
    (thesis 5.4): lines of what both go through are fetched once, and those of others are sent for together. What each turn
    does is done in the order in which it was. It is done only if nothing that the second loop does depends on what the first
    one does in the same turn's later ones, or on its results, and if the lines of both can be held and have room. What is in
    a section is taken to be accessed by loads and stores of `rmem` only.
  }];
  let dependentDialects = ["mlir::scf::SCFDialect"];
  let statistics = [Statistic<"fused", "loops-fused", "Loops that became part of the one before">];
}

def JamLoops : Pass<"farside-jam-loops", "mlir::ModuleOp"> {
  let summary = "Take several turns of a loop together that add to the same";
  let description = [{
    An `scf.for` with one or two others in it, the innermost of which adds in each turn of the first to the same elements, as a
    product of matrices does that goes through one row after the other, takes four of its turns together, or two (unroll and
    jam): what is added to is come to once for all of them, instead of once for each. It is done only if nothing else that the
    loops come to may be what they add to, and if the sections have room for what that many turns go through at once. Sums are
    added up in the order in which they were. What is in a section is taken to be accessed by loads and stores of `rmem` only.
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::arith::ArithDialect", "mlir::scf::SCFDialect"];
  let statistics = [Statistic<"jammed", "loops-jammed", "Loops that take several turns together">];
}

def HoldLines : Pass<"farside-hold-lines", "mlir::ModuleOp"> {
  let summary = "Look lines up once in loops that go through them";
  let description = [{
    An `scf.for` that in each of its turns loads or stores what is a constant distance from the last is cut into
    loops over as many turns as all of its lines last. Lines are held meanwhile, so that what is in them is loaded and
    stored as plain memory, and lines that the loop comes to are sent for. Where elements lie across the end of a line, or
    lines cannot be held, a turn is done by lookups. Loops in its body must be short, and hold no lines themselves.

    What it goes through again in each turn of a loop around it, as a product of matrices goes through a row, the latter holds
    for all of its turns, if it is all in one line then. Loops that go on with the next row send for it.
  }];
  let dependentDialects = ["::farside::rmem::RmemDialect", "mlir::LLVM::LLVMDialect", "mlir::arith::ArithDialect",
                           "mlir::scf::SCFDialect"];
  let statistics = [Statistic<"held", "loops-held", "Loops that hold lines">,
                    Statistic<"holdingRows", "rows-held", "Loops that hold rows">];
}

def SendAhead : Pass<"farside-send-ahead", "mlir::ModuleOp"> {
  let summary = "Send for what later turns of loops come to";
  let description = [{
    An `scf.for` sends, in each turn, for what it comes to so many turns later, if lately something was missing: at addresses
    that are computed from the number of the turn, from what loops do not change, and from what is loaded by these, over
    several levels. What is loaded from sections for that is only looked at if it is here, and so is sent for earlier still.
    What it would take more than a few operations to know, or what another turn leaves behind, is not sent for.
  }];
  let dependentDialects = ["::farside::rmem::RmemDialect", "mlir::LLVM::LLVMDialect", "mlir::arith::ArithDialect",
                           "mlir::scf::SCFDialect"];
  let statistics = [Statistic<"sending", "loops-sending", "Loops that send for later turns">];
}

def ChasePointers : Pass<"farside-chase-pointers", "mlir::ModuleOp"> {
  let summary = "Send for the next node of what loops follow";
  let description = [{
    An `scf.while` that in each turn loads a pointer from the node that it is at, and goes on to that node, sends for it as
    soon as it has come to this one, if there is something to do until it gets there.
  }];
  let dependentDialects = ["::farside::rmem::RmemDialect", "mlir::LLVM::LLVMDialect"];
  let statistics = [Statistic<"chased", "loops-chased", "Loops that send for the next node">];
}

def ShareLookups : Pass<"farside-share-lookups", "mlir::ModuleOp"> {
  let summary = "Look a line up once for what is accessed close together";
  let description = [{
    Loads and stores that follow one another, with nothing between them that could send a line away, and of which several
    are a constant distance from the same pointer, become two: if all of their lines are here, plain loads and stores; else
    the lookups that they were. Only of functions whose control flow is structured, and not of accesses that are apart: what is
    seldom done is to make the program no longer.
  }];
  let dependentDialects = ["::farside::rmem::RmemDialect", "mlir::LLVM::LLVMDialect", "mlir::arith::ArithDialect",
                           "mlir::scf::SCFDialect"];
  let statistics = [Statistic<"shared", "stretches-shared", "Stretches that share lookups">];
}

def ExpandDerefs : Pass<"farside-expand-derefs", "mlir::ModuleOp"> {
  let summary = "Turn what translates pointers into what that consists of";
  let description = [{
    `rmem.deref` becomes `rmem.fetch_if_not_in_cache`, `rmem.wait` and `rmem.paddr`. The first stands where the pointer is
    first known in the block, unless a call or another operation of a section, which could undo it, stands between.
  }];
  let dependentDialects = ["::farside::rmem::RmemDialect"];
}

def LowerRemote : Pass<"farside-lower-remote", "mlir::ModuleOp"> {
  let summary = "Turn operations of rmem into calls of what compiled programs bring along";
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
}

#endif
