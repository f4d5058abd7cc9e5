#include "Farside/Explain/Listing.h"

#include "Farside/Import/LoopFacts.h"
#include "Farside/Import/Numbers.h"
#include "Farside/Lift/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Instruction.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace farside {
namespace {

/// Constants with more elements are not shown.
constexpr int64_t mostElements = 16;

/// The place that an operation comes from, as a comment; what was made of several comes from the first that is known.
std::optional<std::string> placeOf(mlir::Location location, const Numbers &numbers) {
  std::optional<std::string> found;
  location->walk([&](mlir::Location part) {
    auto line = mlir::dyn_cast<mlir::FileLineColLoc>(part);
    const Instruction *instruction = line && !found ? numbers.instruction(line.getLine()) : nullptr;
    if (instruction)
      if (const DILocation *place = instruction->getDebugLoc().get(); place && place->getLine())
        found = (sys::path::filename(place->getFilename()) + ":" + Twine(place->getLine())).str();
    return mlir::WalkResult::advance();
  });
  return found;
}

/// Takes away what says nothing of how the program comes to its memory, and what is computed for nothing.
void simplify(mlir::ModuleOp program) {
  program.walk([](mlir::Operation *op) {
    if (auto access = mlir::dyn_cast<mlir::LLVM::AliasAnalysisOpInterface>(op)) {
      access.setTBAATags({});
      access.setAliasScopes({});
      access.setNoAliasScopes({});
    }
    if (auto function = mlir::dyn_cast<mlir::LLVM::LLVMFuncOp>(op)) {
      function.removePassthroughAttr();
      function.removeTargetCpuAttr();
      function.removeTargetFeaturesAttr();
      function.removeTuneCpuAttr();
    }
    for (StringRef told : {annotationOfLoop, loopFact, accessFact})
      op->removeAttr(told);
  });
  // Others that nothing here calls tell nothing.
  mlir::SymbolTableCollection tables;
  mlir::SymbolUserMap users(tables, program);
  for (auto function : llvm::make_early_inc_range(program.getOps<mlir::LLVM::LLVMFuncOp>()))
    if (function.isExternal() && users.useEmpty(function))
      function.erase();
  mlir::PassManager manager(program.getContext());
  manager.addPass(mlir::createCanonicalizerPass({}, canonicalizationsLeftOut()));
  manager.addPass(mlir::createCSEPass());
  // What it is without them is also right.
  (void)manager.run(program);
}

} // namespace

std::string listingOf(mlir::ModuleOp whole, const Numbers &numbers) {
  mlir::OwningOpRef<mlir::ModuleOp> copy = whole.clone();
  mlir::ModuleOp program = *copy;
  simplify(program);
  mlir::OpPrintingFlags flags;
  flags.elideLargeElementsAttrs(mostElements);
  std::string text;
  raw_string_ostream stream(text);
  mlir::AsmState::LocationMap begins;
  mlir::AsmState state(program, flags, &begins);
  program->print(stream, state);
  DenseMap<unsigned, std::string> places;
  program.walk([&](mlir::Operation *op) {
    auto at = begins.find(op);
    if (at == begins.end())
      return;
    if (auto place = placeOf(op->getLoc(), numbers))
      places.try_emplace(at->second.first, *place);
  });
  std::string shown;
  unsigned number = 1;
  for (StringRef rest = text; !rest.empty(); ++number) {
    auto [line, after] = rest.split('\n');
    shown += line;
    if (auto place = places.find(number); place != places.end())
      shown += "  // " + place->second;
    shown += '\n';
    rest = after;
  }
  return shown;
}

} // namespace farside
