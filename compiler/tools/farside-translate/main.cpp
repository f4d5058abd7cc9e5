// farside-translate: turns a program of a tensor compiler into what clang compiles. farside-cc runs it for each input
// that is MLIR.

#include "Farside/Tensors/Tensors.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

namespace {

cl::opt<std::string> input(cl::Positional, cl::desc("INPUT"), cl::Required);
cl::opt<std::string> output("o", cl::desc("Where the bitcode goes"), cl::Required);
cl::opt<bool> lineTables("line-tables", cl::desc("Keep places in the source"));
cl::opt<std::string> cpu("cpu", cl::desc("The processor that the code is for, or native"));

mlir::OwningOpRef<mlir::ModuleOp> lower(mlir::MLIRContext &context, SourceMgr &sources) {
  auto program = mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  if (!program)
    return {};
  mlir::PassManager manager(&context);
  bool done = mlir::succeeded(mlir::parsePassPipeline(farside::tensorPipeline, manager)) &&
              mlir::succeeded(manager.run(*program)) && (!lineTables || farside::addLineTables(*program));
  return done ? std::move(program) : nullptr;
}

/// As clang says of functions in C: units for several processors may be linked.
void setProcessor(Module &module) {
  if (cpu.empty())
    return;
  StringRef name = cpu == "native" ? sys::getHostCPUName() : StringRef(cpu);
  for (Function &function : module)
    if (!function.isDeclaration())
      function.addFnAttr("target-cpu", name);
}

std::unique_ptr<Module> translate(mlir::ModuleOp program, LLVMContext &context) {
  auto module = mlir::translateModuleToLLVMIR(program, context, input);
  if (!module)
    return nullptr;
  module->setSourceFileName(input);
  Triple target(sys::getDefaultTargetTriple());
  module->setTargetTriple(target);
  module->setDataLayout(target.computeDataLayout());
  setProcessor(*module);
  return module;
}

bool fail(const Twine &message) {
  errs() << "farside-translate: error: " << message << '\n';
  return false;
}

bool write(const Module &module) {
  std::string error;
  auto file = mlir::openOutputFile(output, &error);
  if (!file)
    return fail(error);
  WriteBitcodeToFile(module, file->os());
  file->keep();
  return true;
}

bool run() {
  std::string error;
  auto file = mlir::openInputFile(input, &error);
  if (!file)
    return fail(error);
  SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), SMLoc());
  mlir::DialectRegistry registry;
  farside::registerTensorDialects(registry);
  farside::registerTensorPasses();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  mlir::SourceMgrDiagnosticHandler diagnostics(sources, &context);
  auto program = lower(context, sources);
  if (!program)
    return false;
  LLVMContext llvm;
  auto module = translate(*program, llvm);
  return module && write(*module);
}

} // namespace

int main(int count, char **arguments) {
  cl::ParseCommandLineOptions(count, arguments, "Farside's translator of tensor programs\n");
  return run() ? 0 : 1;
}
