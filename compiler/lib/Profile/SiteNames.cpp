#include "SiteNames.h"

#include "Farside/Remote/Containers.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace farside {
namespace {

/// The innermost place of the program itself, if its line is known.
const DILocation *placeInProgram(const CallBase &call) {
  for (const DILocation *place = call.getDebugLoc().get(); place; place = place->getInlinedAt())
    if (!isOfSystem(*place->getScope()))
      return place->getLine() ? place : nullptr;
  return nullptr;
}

/// The name that the compiler gave a function: one of a unit alone may have another when units are linked.
StringRef objectName(const Function &function) {
  const DISubprogram *source = function.getSubprogram();
  return source && !source->getLinkageName().empty() ? source->getLinkageName()
         : source                                       ? source->getName()
                                                        : commonName(function);
}

} // namespace

bool isOfSystem(const DIScope &scope) {
  static constexpr StringLiteral roots[] = {"/usr/include/", "/usr/lib/", "/usr/local/include/", "/usr/local/lib/"};
  SmallString<128> path(scope.getFilename());
  if (sys::path::is_relative(path))
    path = scope.getDirectory(), sys::path::append(path, scope.getFilename());
  sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  return any_of(roots, [&](StringRef root) { return path.starts_with(root); }) || path.str().contains("/include/c++/");
}

SiteName siteNameOf(const CallBase &call) {
  if (const DILocation *place = placeInProgram(call))
    return {place->getFilename().str(), place->getScope()->getSubprogram()->getName().str(), place->getLine(),
            place->getColumn(), 0};
  return {"", objectName(*call.getFunction()).str(), 0, 0, 0};
}

SiteKey keyOf(const SiteName &site) { return {site.file, site.function, site.line, site.column}; }

} // namespace farside
