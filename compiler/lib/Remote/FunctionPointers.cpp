// What is called by its address. A function whose address is used is an object that pointers lead to as to others; what
// such a pointer is called with goes to all functions of its class, and what it returns may come from each. Where the address
// of a function becomes known outside, so does all that it is passed and returns.

#include "Farside/Remote/Reach.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/GlobalAlias.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/InstrTypes.h"

using namespace llvm;

namespace farside {
namespace {

/// Whether all that a constant is used for are instructions, and what variables and aliases are at the start.
bool isUsedPlainly(const Constant &constant) {
  return all_of(constant.users(), [](const User *user) {
    if (isa<Instruction, GlobalVariable, GlobalAlias>(user))
      return true;
    return isa<ConstantExpr, ConstantAggregate>(user) && isUsedPlainly(*cast<Constant>(user));
  });
}

} // namespace

bool Reach::isAddressSeen(const Function &function) { return isUsedPlainly(function); }

Reach::Kind Reach::kindOf(const Type &type) {
  if (type.isPointerTy())
    return Kind::pointer;
  return type.isIntegerTy() || type.isFloatingPointTy() ? Kind::number : Kind::other;
}

std::vector<Reach::Kind> Reach::kindsOf(const FunctionType &type) {
  std::vector<Kind> kinds{kindOf(*type.getReturnType())};
  for (const Type *each : type.params())
    kinds.push_back(kindOf(*each));
  return kinds;
}

/// The node of a function's address.
int Reach::ofFunction(const Function &function) {
  int node = fresh();
  if (function.isDeclaration() || function.isVarArg()) {
    currentHow =
        ("it is passed to or comes from '" + function.getName() + "', which may be called by its address").str();
    join(node, outside);
    return node;
  }
  Passed passed{{0, kindOf(*function.getReturnType()), ofReturn(&function)}};
  for (const Argument &argument : function.args())
    passed.push_back({argument.getArgNo() + 1, kindOf(*argument.getType()), of(&argument)});
  int object = pointee(node);
  nodes[object].passed = std::move(passed);
  pointed.push_back({node, kindsOf(*function.getFunctionType())});
  return node;
}

/// A call of what is not known by its name, if something is known of it.
bool Reach::addIndirectCall(const CallBase &call) {
  auto *callee = dyn_cast<Function>(call.getCalledOperand());
  int node = of(call.getCalledOperand());
  if (call.isInlineAsm() || (callee && callee->isDeclaration()) || node == none)
    return false;
  if (call.hasOperandBundles())
    escape(node, "it is called in a way that cannot be followed");
  if (find(pointee(node)) == outside)
    return false;
  Passed passed;
  auto add = [&](unsigned place, const Value &value) {
    int known = of(&value);
    passed.push_back({place, kindOf(*value.getType()), known == none ? fresh() : known});
  };
  add(0, call);
  for (auto [number, argument] : enumerate(call.args())) {
    if (call.isPassPointeeByValueArgument(number))
      escape(of(argument), "it is copied to the arguments of a call");
    add(number + 1, *argument);
  }
  currentHow = "it is passed to or comes from a function that is known only at run time";
  int object = fresh(), functions = pointee(node);
  nodes[object].passed = std::move(passed);
  unify(functions, object, none);
  calls.push_back({node, kindsOf(*call.getFunctionType())});
  return true;
}

/// Has functions of a class be passed the same in each place, of whatever kind. Whether that is something new.
bool Reach::mixKinds(int functions) {
  bool changes = false;
  Passed all = nodes[functions].passed;
  for (const Slot &one : all)
    for (const Slot &other : all)
      if (one.place == other.place && find(pointee(one.value)) != find(pointee(other.value))) {
        joinTargets(one.value, pointee(one.value), other.value, pointee(other.value));
        changes = true;
      }
  return changes;
}

/// A number is not passed as a pointer, nor the other way round, unless the program calls functions as what they are not: then
/// there is none of the kind that is called.
void Reach::mixKinds() {
  current = nullptr;
  currentHow = "it is passed to or comes from a function that is called with other arguments than it has";
  for (bool changes = true; changes;) {
    changes = false;
    for (const Called &call : calls) {
      int functions = find(pointee(call.address));
      auto isCalled = [&](const Called &each) { return find(pointee(each.address)) == functions; };
      auto isSame = [&](const Called &each) { return isCalled(each) && each.kinds == call.kinds; };
      if (functions != outside && any_of(pointed, isCalled) && none_of(pointed, isSame))
        changes |= mixKinds(functions);
    }
  }
}

const void *Reach::functionsAt(const Value *value) const {
  auto found = values.find(value);
  if (found == values.end() || found->second == none)
    return nullptr;
  int functions = nodes[find(found->second)].pointee;
  if (functions == none)
    return nullptr;
  functions = find(functions);
  return functions == outside ? nullptr : &nodes[functions];
}

} // namespace farside
