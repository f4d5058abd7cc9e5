#include "Farside/Explain/Parts.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace farside {

void addToPart(Module &module, StringRef part, json::Object line) {
  std::string text = formatv("{0}\n", json::Value(std::move(line)));
  Constant *bytes = ConstantDataArray::getString(module.getContext(), text, /*AddNull=*/false);
  auto *variable = new GlobalVariable(module, bytes->getType(), true, GlobalValue::PrivateLinkage, bytes,
                                      part.ltrim('.'));
  variable->setSection(part);
  // Units follow one another without anything between them.
  variable->setAlignment(Align(1));
  appendToUsed(module, {variable});
}

} // namespace farside
