#ifndef FARSIDE_LIFT_PASSES_H
#define FARSIDE_LIFT_PASSES_H

namespace farside {

/// Enters the passes that structure control flow and undo that, and two pipelines of them: `farside-structure` and
/// `farside-unstructure`.
void registerLiftPasses();

} // namespace farside

#endif
