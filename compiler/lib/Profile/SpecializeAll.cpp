#include "Farside/Profile/SpecializeAll.h"

#include "AllSites.h"
#include "Farside/Remote/Specialize.h"
#include "SiteNames.h"
#include <map>
#include <tuple>

using namespace llvm;

namespace farside {

void specializeAll(Module &module) {
  std::map<std::tuple<std::string, std::string, uint64_t, uint64_t>, unsigned> sections;
  SmallVector<Destined> sites;
  for (CallBase *call : allocatingCalls(module)) {
    SiteName site = siteNameOf(*call);
    // Calls that come from the same place are of one site.
    auto known = sections.try_emplace({site.file, site.function, site.line, site.column}, sections.size()).first;
    sites.push_back({call, known->second});
  }
  specialize(module, sites);
}

} // namespace farside
