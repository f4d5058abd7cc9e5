// farside-opt: reads a program as MLIR, runs passes on it, and prints it.

#include "Farside/Convert/Passes.h"
#include "Farside/Dialect/Dialects.h"
#include "Farside/Lift/Passes.h"
#include "Farside/Tensors/Tensors.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int count, char **arguments) {
  mlir::DialectRegistry registry;
  farside::registerDialects(registry);
  farside::registerTensorDialects(registry);
  farside::registerConvertPasses();
  farside::registerLiftPasses();
  farside::registerTensorPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(count, arguments, "Farside's compiler\n", registry));
}
