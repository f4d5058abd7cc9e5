#ifndef FARSIDE_REMOTE_REACH_H
#define FARSIDE_REMOTE_REACH_H

#include "Farside/Remote/TypedPlace.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include <string>
#include <vector>

namespace llvm {
class Argument;
class CallBase;
class Constant;
class Function;
class FunctionType;
class GlobalVariable;
class Instruction;
class IntToPtrInst;
class IntrinsicInst;
class LoadInst;
class MDNode;
class Module;
class StoreInst;
class Type;
class Value;
} // namespace llvm

namespace farside {

struct LibraryCall;

/// Which values of a module may point to what some of its calls allocate.
///
/// Objects are put into classes, those that a pointer may lead to into one, and values and what is in objects have one that
/// they point to (as in Steensgaard's analysis, without regard to order or callers). Pointers in objects are told apart by what the
/// language says of them: one that is stored as a pointer to a node is not read as one to an arc, nor from another field. What the
/// module does not show is one class that points to itself; whatever comes to it has escaped. This is right for all that the module does: what it
/// does in a way that is not understood is an escape.
class Reach {
public:
  /// `sites` are calls that allocate. Nothing of the module may change while this is in use.
  Reach(const llvm::Module &module, llvm::ArrayRef<const llvm::CallBase *> sites);

  /// Sites that `value` may point to, by their number; also those that escaped.
  llvm::ArrayRef<unsigned> pointedTo(const llvm::Value *value) const;

  /// How a site escaped.
  struct Escape {
    bool happened = false;
    const llvm::Instruction *where = nullptr;
    std::string how;
  };
  const Escape &escapeOf(unsigned site) const { return escapes[site]; }

  /// Of each site a variable by which several threads may come to what is allocated there; null if only the one that has
  /// allocated it does. Of a site that escaped it says nothing.
  std::vector<const llvm::GlobalVariable *> findCommon() const;
  /// A function that a module calls, and by which a thread may go on with what another one has begun.
  static const llvm::Function *switchingStacks(const llvm::Module &module);

  /// Whether a function may be called by what the module does not show, other than main.
  static bool isCalledFromOutside(const llvm::Function &function);
  /// Whether its address is used for more than to call it, or to have it called by what is known of the C library.
  static bool hasAddressTaken(const llvm::Function &function);
  /// Whether it can be seen where its address goes.
  static bool isAddressSeen(const llvm::Function &function);
  /// What tells functions apart that are called by their addresses: the same of a function and of what it may be called by.
  /// Null if it may be any that is known outside.
  const void *functionsAt(const llvm::Value *value) const;

private:
  struct Typed {
    TypedPlace place;
    int target;
  };
  enum class Kind : uint8_t { number, pointer, other };
  /// What functions return, which comes first, or are passed in one place, of one kind.
  struct Slot {
    unsigned place;
    Kind kind;
    int value;
  };
  using Passed = llvm::SmallVector<Slot, 0>;
  /// An address that functions are called by, or that one has, and the kinds of what is returned and passed.
  struct Called {
    int address;
    std::vector<Kind> kinds;
  };
  /// A class, or a member that leads to one.
  struct Node {
    int parent = none;
    /// Of a value and of what is in memory, the objects that it may point to.
    int pointee = none;
    /// Of objects, what is in them.
    int memory = none;
    /// Why it escaped.
    int reason = none;
    /// Of functions that are called by their addresses, what they return and are passed.
    Passed passed;
    std::vector<unsigned> sites;
    /// Of what is in memory, what pointers at a place point to, as long as all are read and written at such.
    llvm::SmallVector<Typed, 2> typed;
  };
  static constexpr int none = -1;
  static constexpr int outside = 0;

  int fresh();
  int find(int node);
  int find(int node) const;
  int pointee(int node);
  int memory(int objects);
  static void enter(llvm::SmallVectorImpl<Typed> &typed, const Typed &entry, llvm::SmallVectorImpl<int> &same);
  int content(int memory, const TypedPlace &place);
  TypedPlace placeOf(const llvm::Instruction &access, const llvm::Type *type);
  void access(int pointer, const TypedPlace &place, int value);
  void copyContent(int to, int from);
  void unify(int one, int other, int why);
  struct Pair;
  void passTheSame(int into, const Passed &passed, int reason, llvm::SmallVectorImpl<Pair> &work);
  void join(int one, int other);
  void joinTargets(int one, int target, int other, int otherTarget);
  int reasonOf(int member);
  void noteEscape(Node &node, int reason);
  void escape(int node, const llvm::Twine &how);
  void escapeContent(int pointer, const llvm::Twine &how);

  int of(const llvm::Value *value);
  int ofConstant(const llvm::Constant *constant);
  int ofReturn(const llvm::Function *function);
  int ofFunction(const llvm::Function &function);
  void flow(const llvm::Value *from, const llvm::Value *to);
  void compute(const llvm::Value *value);

  void addSite(unsigned number, const llvm::CallBase &site);
  void addGlobals();
  void addFunction(const llvm::Function &function);
  void add(const llvm::Instruction &instruction);
  void addLoad(const llvm::LoadInst &load);
  void addStore(const llvm::StoreInst &store);
  void addCall(const llvm::CallBase &call);
  void addIntrinsic(const llvm::IntrinsicInst &call);
  void addLibraryCall(const llvm::CallBase &call, const LibraryCall &library);
  void addDirectCall(const llvm::CallBase &call, const llvm::Function &callee);
  bool addIndirectCall(const llvm::CallBase &call);
  static Kind kindOf(const llvm::Type &type);
  static std::vector<Kind> kindsOf(const llvm::FunctionType &type);
  void mixKinds();
  bool mixKinds(int functions);
  void addOperation(const llvm::Instruction &instruction);

  const llvm::Module &module;
  std::vector<Node> nodes;
  llvm::DenseMap<const llvm::Value *, int> values;
  llvm::DenseMap<const llvm::Function *, int> returns;
  std::vector<Called> pointed, calls;
  std::vector<Escape> escapes, reasons;
  /// The language whose types are told apart.
  const llvm::MDNode *language = nullptr;
  /// What is being looked at.
  const llvm::Instruction *current = nullptr;
  std::string currentHow;
};

} // namespace farside

#endif
