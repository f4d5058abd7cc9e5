#ifndef FARSIDE_PLUGIN_LINES_H
#define FARSIDE_PLUGIN_LINES_H

namespace llvm {
class Module;
} // namespace llvm

namespace farside {

/// Notes in a unit that somebody wants to know its lines. All units are compiled with them, since allocations are known by
/// their place in the source.
void keepLines(llvm::Module &module);

/// Has a program forget its lines once they have served, if no unit of it keeps them and none has more than lines: they would
/// take long to carry along.
void dropLines(llvm::Module &module);

} // namespace farside

#endif
