#include "Farside/Profile/SpecializeAll.h"

#include "AllSites.h"
#include "Farside/Remote/Specialize.h"
#include "SiteNames.h"
#include <map>

using namespace llvm;

namespace farside {

void specializeAll(Module &module) {
  std::map<SiteKey, unsigned> sections;
  SmallVector<Destined> sites;
  for (CallBase *call : allocatingCalls(module)) {
    auto known = sections.try_emplace(keyOf(siteNameOf(*call)), sections.size()).first;
    sites.push_back({call, known->second});
  }
  specialize(module, sites);
}

} // namespace farside
