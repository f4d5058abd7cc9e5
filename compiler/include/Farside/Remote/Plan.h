#ifndef FARSIDE_REMOTE_PLAN_H
#define FARSIDE_REMOTE_PLAN_H

#include "Farside/Remote/LibraryCall.h"
#include "Farside/Sections/SectionFile.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <set>
#include <string>

namespace llvm {
class BasicBlock;
class CallBase;
class Function;
class Instruction;
class Module;
class Value;
} // namespace llvm

namespace farside {

/// Marks the calls that a section file names, before anything is done to them. What it names and there is not goes to
/// `errors`, or, if the module is linked with others, may be in one of them; functions that allocate, and are called where
/// it says, will be inlined there.
void markSites(llvm::Module &module, const SectionFile &file, bool linked, std::vector<SectionFileError> &errors);

/// Sites where nothing is allocated: in any unit, or as far as can be seen.
struct MissingSites {
  std::vector<SectionFileError> errors, warnings;
};

/// Marks what allocates where the file says after it was inlined there, as what `new_list()` calls is at the line of
/// `new_list()`.
MissingSites markInlinedSites(llvm::Module &module, const SectionFile &file);

/// Sites of a module that is linked which its units were compiled without. Nothing may have been inlined yet.
std::vector<SectionFileError> staleSites(llvm::Module &module, const SectionFile &file);

/// Sees to it that functions which allocate are inlined where the file says that something is allocated.
void inlineAllocating(llvm::Module &module, const SectionFile &file);

/// Whether there is anything in a module that is linked for the section file to name.
bool hasSites(llvm::Module &module);

/// Sections that calls are marked with and that the file does not have: it is another one than when they were marked.
std::set<std::string> unknownSections(llvm::Module &module, const SectionFile &file);

/// Functions that the file wants to run where their data is stay functions, whoever calls them.
void markOffloaded(llvm::Module &module, const SectionFile &file);

/// Whether a function is one of those.
bool isOffloaded(const llvm::Function &function);

/// What of a module is to work on sections.
struct Plan {
  /// An allocation that a section file names.
  struct Site {
    /// Until the plan is carried out.
    llvm::CallBase *call;
    /// Where it is in the source, and in which function.
    std::string place, function;
    /// The file that was compiled.
    std::string unit;
    unsigned section;
    /// Why it stays in the memory that is paged; empty if it goes to the section.
    std::string stays;
    /// Where in the source that is, if it is known.
    std::string because;
  };
  /// Sections, by their number, of what an instruction accesses; of a copy, `from` is that of what it reads.
  struct Access {
    std::optional<unsigned> section;
    std::optional<unsigned> from;
    /// What it may access of what was allocated at which sites; and of these, those of one pointer, and of what a copy reads.
    llvm::SmallVector<unsigned> sites, toSites, fromSites;
    /// Of a call of the C library, the memory that it is lent: in `section` and in `from`; and the argument into whose memory
    /// its result leads.
    llvm::SmallVector<Borrow, 2> borrows;
    int32_t returned = Borrow::none;
    /// Of an allocation, what its address has to be a multiple of, for fields of its records to be selected; 0: nothing.
    uint64_t alignment = 0;
  };
  /// A loop in which only some fields of a section's records are used, and nothing else of it.
  struct Scope {
    unsigned section;
    const llvm::Function *function;
    /// Where the loop begins, in the program and in the source.
    const llvm::BasicBlock *header;
    std::string place;
    uint64_t record;
    /// Start and length of each field.
    llvm::SmallVector<std::pair<uint32_t, uint32_t>> fields;
    /// Whether the section file wants it.
    bool isSelected;

    /// Whether another one is the same to who reads the source.
    bool isAs(const Scope &other) const {
      return section == other.section && place == other.place && record == other.record && fields == other.fields;
    }
  };
  /// Why there is no such loop, and where in the source that is, if it is known.
  struct Undivided {
    std::string why, because;
  };

  llvm::SmallVector<Site> sites;
  llvm::DenseMap<const llvm::Instruction *, Access> accesses;
  /// Functions that have accesses.
  llvm::SmallPtrSet<const llvm::Function *, 16> functions;
  /// Sections, by their number, that several threads may use, also if each uses its own: a function that uses each, and that
  /// others may run (thesis 6.7: the rest are the main thread's own).
  llvm::MapVector<unsigned, const llvm::Function *> shared;
  /// Functions that other threads than the main one may run.
  llvm::SmallPtrSet<const llvm::Function *, 16> elsewhere;
  std::vector<Scope> scopes;
  /// Of sections without one, by their number.
  llvm::MapVector<unsigned, Undivided> undivided;

  /// All stay.
  void giveUp(const std::string &why);
};

/// Plans what can be done of what a section file asks for. `whyNot` tells of a function why it cannot be converted. `isWhole`:
/// nothing that is compiled elsewhere uses these sections.
Plan planRemote(llvm::Module &module, const SectionFile &file, bool isWhole,
                llvm::function_ref<std::optional<std::string>(const llvm::Function &)> whyNot);

/// Plans as if each of some calls that allocate were for one and the same section, so that no reason to stay is that there
/// are others.
Plan planAll(llvm::Module &module, llvm::ArrayRef<llvm::CallBase *> calls,
             llvm::function_ref<std::optional<std::string>(const llvm::Function &)> whyNot);

/// Where an instruction is in the source, as far as that is known.
std::string placeOf(const llvm::Instruction &instruction);

/// Pointers through which an instruction comes to memory, and may be remote.
struct Pointers {
  const llvm::Value *to = nullptr;
  const llvm::Value *from = nullptr;
};
Pointers pointersOf(const llvm::Instruction &instruction);

/// Takes from the module what does not hold when the plan is carried out: it must be done before that, and can be done in
/// any case. Functions that are left as they are keep what is said of them.
void forgetUntrue(llvm::Module &module, const Plan &plan, llvm::function_ref<bool(const llvm::Function &)> isLeft);

} // namespace farside

#endif
