#ifndef FARSIDE_PROFILE_CANDIDATES_H
#define FARSIDE_PROFILE_CANDIDATES_H

#include "Farside/Sections/SectionFile.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace llvm {
class CallBase;
class Instruction;
class Module;
} // namespace llvm

namespace farside {

struct Plan;

/// What of a program could go to sections, and what is known of it without a run: what `farside tune` begins with. It is
/// written into the program, a line of JSON for each module.
class Candidates {
public:
  /// Looks at a program of which nothing is converted yet.
  Candidates(llvm::Module &module, llvm::FunctionAnalysisManager &analyses);

  /// Whether a site can go to a section by what is known of the same program in `other`, and not by this; or has to share one
  /// with another site only here.
  bool allowsLessThan(const Candidates &other) const;

  /// Adds them to the module, which may be converted by now.
  void addTo(llvm::Module &module);

  /// Sites, as a section file has to name them.
  const std::vector<SiteName> &names() const { return sites; }
  /// The site of a call that allocates, or of one that was converted from such a call.
  std::optional<unsigned> siteOf(const llvm::CallBase &call) const;

private:
  unsigned enter(const SiteName &site);
  llvm::json::Array describeSites(const Plan &plan, llvm::ArrayRef<unsigned> siteOfCall) const;
  llvm::json::Array describeAccesses(llvm::Module &module, const Plan &plan, llvm::ArrayRef<unsigned> siteOfCall,
                                     llvm::FunctionAnalysisManager &analyses) const;

  std::vector<SiteName> sites;
  /// By what tells sites apart.
  std::map<std::tuple<std::string, std::string, uint64_t, uint64_t>, unsigned> numbers;
  llvm::json::Object description;
};

} // namespace farside

#endif
