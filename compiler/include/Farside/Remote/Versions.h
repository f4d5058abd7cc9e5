#ifndef FARSIDE_REMOTE_VERSIONS_H
#define FARSIDE_REMOTE_VERSIONS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringRef.h"

namespace llvm {
class BasicBlock;
class Function;
class Module;
} // namespace llvm

namespace farside {

struct Plan;
struct SectionFile;

/// The variable of a converted module that says which of its sections are more than plain memory, a bit for each.
/// addSupport() sees to it that it does.
constexpr llvm::StringLiteral areRemote = "farside.remote";

/// The same of sections of which each thread has its own, for the thread; which of them it has opened, or could not; and the
/// function that opens those with such bits. They are there if the module uses such sections.
constexpr llvm::StringLiteral areOwnRemote = "farside.own", areSettled = "farside.settled", settle = "farside.settle";

/// The bit of a section there, by its number. The last ones share one.
uint64_t bitOf(unsigned section);

/// The name that a function has for others, whether it is converted or not.
llvm::StringRef nameForOthers(const llvm::Function &function);

/// Functions in two versions: as they are converted, and as they were. As long as none of the sections is open that a
/// function and what it calls use, all its pointers are plain, and the second one is all that is needed: without Farside,
/// and where what it works on is local anyhow.
///
/// A function that uses sections of which each thread has its own is come to by way of its choice, which sees to it that the
/// thread has opened them: they are what they are before anything is looked up in them, whoever has started the thread.
class Versions {
public:
  explicit Versions(llvm::Module &module) : module(module) {}

  /// Looks which sections functions use, and those that they call.
  void look(const Plan &plan, const SectionFile &file);

  /// Keeps what functions are before anything of them is changed, as far as that can be.
  void keep(const Plan &plan);

  /// Whether a function is what was kept of another one.
  bool isKept(const llvm::Function &function) const { return copies.contains(&function); }

  /// The bits of those sections that a function reads, and what it calls, through copies if it is not the main thread
  /// that runs it; none if no other one does.
  uint64_t copiesOf(const llvm::Function &function) const {
    return elsewhere.contains(&function) ? used.lookup(&function) & copied : 0;
  }

  /// Gives up what was kept.
  void forget();

  /// Puts in the place of each of the functions, which are converted now, a choice between it and what was kept.
  void choose(llvm::ArrayRef<llvm::Function *> converted);

private:
  /// The bits of those that a thread opens itself.
  uint64_t openedBy(const llvm::Function &function) const { return used.lookup(&function) & (own | copied); }

  /// Makes the choice, which has the name of what it chooses from. There may be nothing plain to choose.
  llvm::Function &put(llvm::Function &converted, llvm::Function *plain);

  /// Has a thread open sections of its own, and copies, if it has not. Returns where it goes on.
  llvm::BasicBlock *open(llvm::BasicBlock &start, uint64_t sections);

  /// What others call leads to the choice from now on. Converted functions call each other without one, unless there are
  /// sections that the caller uses and what it calls does not.
  void callChoice(llvm::Function &converted, llvm::Function &choice,
                  const llvm::MapVector<llvm::Function *, llvm::Function *> &chosen);

  llvm::Module &module;
  /// Nothing calls those that were kept before the choice is made.
  llvm::MapVector<llvm::Function *, llvm::Function *> kept;
  llvm::SmallPtrSet<const llvm::Function *, 16> copies;
  /// The bits of sections.
  llvm::DenseMap<const llvm::Function *, uint64_t> used;
  /// Those of sections of which each thread has its own.
  uint64_t own = 0;
  /// Those of sections with copies, and functions that other threads than the main one may run.
  uint64_t copied = 0;
  llvm::SmallPtrSet<const llvm::Function *, 16> elsewhere;
};

} // namespace farside

#endif
