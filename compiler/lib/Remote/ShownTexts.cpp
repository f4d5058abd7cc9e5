// What streams are given to show is copied for them: an exception may come out of them, so that nothing of a section can be
// lent.

#include "Farside/Remote/Containers.h"
#include "Farside/Remote/HeapCall.h"
#include "Farside/Remote/LendableCalls.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace farside {
namespace {

constexpr unsigned text = 1, length = 2;

enum class Shown { no, bytes, text };

/// std::__ostream_insert(), which shows strings, std::ostream::write(), and what shows texts.
Shown shownBy(const CallBase &call) {
  const Function *callee = call.getCalledFunction();
  if (!callee || !callee->isDeclaration() || callee->isVarArg() || call.hasOperandBundles() || call.isMustTailCall())
    return Shown::no;
  auto shown = StringSwitch<Shown>(callee->getName())
                   .Cases({"_ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l",
                           "_ZNSo5writeEPKcl"},
                          Shown::bytes)
                   .Case("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc", Shown::text)
                   .Default(Shown::no);
  bool suits = call.arg_size() == (shown == Shown::bytes ? length + 1 : text + 1) &&
               call.getArgOperand(text)->getType()->isPointerTy() &&
               (shown != Shown::bytes || call.getArgOperand(length)->getType()->isIntegerTy(64));
  return suits && mayBeAllocated(call.getArgOperand(text)) ? shown : Shown::no;
}

/// Makes a function for one call, which shows a copy, and frees it whatever comes.
class Showing {
public:
  Showing(CallBase &call, Shown shown)
      : call(call), callee(*call.getCalledFunction()), module(*call.getModule()), isText(shown == Shown::text),
        builder(call.getContext()) {}

  void run() {
    function = Function::Create(callee.getFunctionType(), GlobalValue::InternalLinkage, callee.getName() + ".copied",
                                module);
    function->setUWTableKind(call.getFunction()->getUWTableKind());
    function->setPersonalityFn(cast<Constant>(
        module.getOrInsertFunction("__gxx_personality_v0", FunctionType::get(builder.getInt32Ty(), true)).getCallee()));
    for (StringRef kind : {"target-cpu", "target-features", "tune-cpu"})
      if (call.getFunction()->hasFnAttribute(kind))
        function->addFnAttr(call.getFunction()->getFnAttribute(kind));
    BasicBlock *start = block(), *copying = block(), *showing = block();
    builder.SetInsertPoint(start);
    Value *original = function->getArg(text);
    builder.CreateCondBr(builder.CreateIsNull(original), showing, copying);
    Value *copy = copyOf(original, *copying, *showing);
    BasicBlock *copied = builder.GetInsertBlock();
    builder.SetInsertPoint(showing);
    PHINode *either = builder.CreatePHI(original->getType(), 2);
    either->addIncoming(Constant::getNullValue(original->getType()), start);
    either->addIncoming(copy, copied);
    show(either);
    call.setCalledFunction(function);
  }

private:
  BasicBlock *block() { return BasicBlock::Create(module.getContext(), "", function); }

  CallInst *callOf(StringRef name, Type *result, ArrayRef<Value *> arguments) {
    SmallVector<Type *> types;
    for (Value *argument : arguments)
      types.push_back(argument->getType());
    auto *type = FunctionType::get(result, types, false);
    CallInst *made = builder.CreateCall(module.getOrInsertFunction(name, type), arguments);
    made->setDoesNotThrow();
    return made;
  }

  /// The copy is no allocation of the program, which could go to a section itself.
  Value *copyOf(Value *original, BasicBlock &at, BasicBlock &next) {
    builder.SetInsertPoint(&at);
    Type *number = builder.getInt64Ty();
    Value *one = builder.getInt64(1), *none = Constant::getNullValue(original->getType());
    Value *size = isText ? builder.CreateAdd(callOf("strlen", number, {original}), one)
                         : static_cast<Value *>(function->getArg(length));
    // To be asked for nothing it may return nothing.
    Value *room = isText ? size : builder.CreateAdd(size, one);
    Value *copy = callOf("reallocarray", original->getType(), {none, room, one});
    BasicBlock *failed = block(), *made = block();
    builder.CreateCondBr(builder.CreateIsNull(copy), failed, made);
    builder.SetInsertPoint(failed);
    callOf("abort", builder.getVoidTy(), {});
    builder.CreateUnreachable();
    builder.SetInsertPoint(made);
    markAsCharacters(*builder.CreateMemCpy(copy, MaybeAlign(), original, MaybeAlign(), size));
    builder.CreateBr(&next);
    return copy;
  }

  void show(Value *copy) {
    SmallVector<Value *> arguments;
    for (Argument &argument : function->args())
      arguments.push_back(argument.getArgNo() == text ? copy : &argument);
    BasicBlock *done = block(), *thrown = block();
    InvokeInst *made = builder.CreateInvoke(&callee, done, thrown, arguments);
    made->setCallingConv(call.getCallingConv());
    builder.SetInsertPoint(done);
    callOf("free", builder.getVoidTy(), {copy});
    if (made->getType()->isVoidTy())
      builder.CreateRetVoid();
    else
      builder.CreateRet(made);
    builder.SetInsertPoint(thrown);
    LandingPadInst *pad =
        builder.CreateLandingPad(StructType::get(builder.getPtrTy(), builder.getInt32Ty()), /*NumClauses=*/0);
    pad->setCleanup(true);
    callOf("free", builder.getVoidTy(), {copy});
    builder.CreateResume(pad);
  }

  CallBase &call;
  Function &callee;
  Module &module;
  bool isText;
  IRBuilder<> builder;
  Function *function = nullptr;
};

} // namespace

void copyShown(Module &module) {
  SmallVector<std::pair<CallBase *, Shown>> calls;
  for (Function &function : module)
    if (!isForOthers(function))
      for (Instruction &instruction : instructions(function))
        if (auto *call = dyn_cast<CallBase>(&instruction))
          if (Shown shown = shownBy(*call); shown != Shown::no)
            calls.push_back({call, shown});
  for (auto [call, shown] : calls)
    Showing(*call, shown).run();
}

} // namespace farside
