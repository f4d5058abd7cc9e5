#include "Farside/Plugin/Lines.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace farside {
namespace {

/// Of a program it is there if a unit has it.
constexpr StringLiteral keepsLines = "farside.lines";

} // namespace

void keepLines(Module &module) { module.getOrInsertNamedMetadata(keepsLines); }

void dropLines(Module &module) {
  bool hasMore = any_of(module.debug_compile_units(), [](const DICompileUnit *unit) {
    return unit->getEmissionKind() != DICompileUnit::LineTablesOnly;
  });
  if (!hasMore && !module.getNamedMetadata(keepsLines))
    StripDebugInfo(module);
}

} // namespace farside
