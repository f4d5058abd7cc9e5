//! Proximity with what a run sees of accesses.

use farside_trace::PageId;

use super::{FaultKind, PrefetchPlan, Prefetcher, Proximity, ProximityOptions};
use crate::replacement::Slot;

/// Greatest weight of an edge: what was right for long must not be believed for as long again.
const MOST_WEIGHT: u16 = 4;

/// Least weight of an edge that is followed: what came after a page once may have come by chance.
const LEAST_WEIGHT: u16 = 2;

/// A share, in parts of 65,536: how many of the pages of which something is told were used.
type Rate = u16;

/// Below this only the heaviest edges are followed: the others come about by chance.
const TRUSTED: Rate = Rate::MAX / 2;

/// One answer changes the rate by 1/2^shift of what is left.
const SHIFT: u32 = 5;

/// What came of a page since it was asked for.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
enum Awaited {
    /// It was not asked for, or its fate is known.
    #[default]
    No,
    /// It was asked for.
    Yes,
    /// It was asked for among the last of a walk: when it is used, it is time for those that follow.
    Leads,
}

/// What is known of a page that was asked for.
#[derive(Copy, Clone, Debug)]
struct Note {
    awaited: Awaited,
    /// The page from which the walk came to it.
    by: Slot,
}

/// Tells whether a page is far.
type IsFar<'a> = &'a dyn Fn(PageId) -> bool;

/// The page proximity graph for a caller that sees accesses only where pages fault, and of those that were fetched ahead
/// only now and then whether they are used.
///
/// Pages that are asked for count as accessed, in the order of the walk, so that the stack holds what the program probably
/// did; as long as that is not known it proves nothing, and changes no weight. One that is used among the last of them
/// leads on: so the program need not come to a page that is not there for the next ones to be fetched. One that is seen
/// to leave unused takes the edge away that led to it, and where most do only the heaviest edges are followed.
#[derive(Clone, Debug)]
pub struct ProximityInRun {
    graph: Proximity,
    /// By slot.
    notes: Vec<Note>,
    used: Rate,
    /// Pages that there is room for in a walk.
    most: u32,
}

impl ProximityInRun {
    /// A prefetcher that knows of no page yet.
    pub fn new(options: ProximityOptions) -> Self {
        let graph = Proximity::new(ProximityOptions { most_weight: MOST_WEIGHT, ..options });
        let notes = Vec::with_capacity(graph.options.pages);
        let most = graph.options.most;
        Self { graph, notes, used: Rate::MAX / 4 * 3, most }
    }

    /// Pages that are known.
    pub fn known(&self) -> usize {
        self.graph.pages.len()
    }

    /// From now on it asks for no more pages at once, and no more than it was made for.
    pub fn ask_for_at_most(&mut self, pages: u32) {
        self.graph.options.most = pages.min(self.most);
    }

    fn note(&mut self, slot: Slot) -> &mut Note {
        let index = slot.0 as usize;
        if index >= self.notes.len() {
            self.notes.resize(index + 1, Note { awaited: Awaited::No, by: slot });
        }
        &mut self.notes[index]
    }

    /// Asks for the pages around one, which count as accessed from now on.
    fn ask_from(&mut self, slot: Slot, is_far: IsFar<'_>, plan: &mut PrefetchPlan) {
        self.graph.options.least_weight =
            if self.used < TRUSTED { MOST_WEIGHT } else { LEAST_WEIGHT };
        self.graph.walk(slot, plan);
        plan.touch_resident();
        if let Some(page) = self.middle_of_far(is_far) {
            plan.lead_on(page);
        }
        let count = self.graph.queue.len();
        for index in 1..count {
            let (asked, by) = self.graph.queue[index];
            self.learn(asked);
            self.graph.stack.make_youngest(asked);
            self.graph.nodes[asked.0 as usize].assumed = true;
            let awaited = if 2 * index >= count { Awaited::Leads } else { Awaited::Yes };
            *self.note(asked) = Note { awaited, by };
        }
    }

    /// Of the pages of the latest walk that have to be fetched the one in the middle.
    fn middle_of_far(&self, is_far: IsFar<'_>) -> Option<PageId> {
        let asked = self.graph.queue.iter().skip(1);
        let pages = asked.filter_map(|(asked, _)| self.graph.pages.get(*asked));
        let mut far = pages.filter(|page| is_far(*page));
        let count = far.clone().count();
        far.nth(count / 2)
    }

    /// Compares what followed the last access of a page with its set, if that access was seen.
    fn learn(&mut self, slot: Slot) {
        if !self.graph.nodes[slot.0 as usize].assumed {
            self.graph.update(slot);
        }
    }

    /// What was noted of a page, which is here and used now.
    fn take(&mut self, slot: Slot) -> Awaited {
        std::mem::take(&mut self.note(slot).awaited)
    }

    /// A page faulted, of which it was known whether it had been asked for.
    fn waited_for(
        &mut self,
        slot: Slot,
        awaited: Awaited,
        is_far: IsFar<'_>,
        plan: &mut PrefetchPlan,
    ) {
        if awaited == Awaited::No {
            self.learn(slot);
            self.graph.stack.make_youngest(slot);
        }
        self.graph.nodes[slot.0 as usize].assumed = false;
        self.ask_from(slot, is_far, plan);
    }
}

impl Prefetcher for ProximityInRun {
    fn name(&self) -> &'static str {
        self.graph.name()
    }

    fn fault(&mut self, page: PageId, kind: FaultKind, plan: &mut PrefetchPlan) {
        self.fault_seeing(page, kind, &|_| true, plan);
    }

    fn fault_seeing(
        &mut self,
        page: PageId,
        kind: FaultKind,
        is_far: IsFar<'_>,
        plan: &mut PrefetchPlan,
    ) {
        let Some(slot) = self.graph.slot_of(page) else {
            self.graph.raise(page);
            if let Some(slot) = self.graph.slot_of(page) {
                self.take(slot);
            }
            return;
        };
        let awaited = self.take(slot);
        if kind != FaultKind::Demand && awaited != Awaited::No {
            self.used += (Rate::MAX - self.used) >> SHIFT;
        }
        match (kind, awaited) {
            // It was here unseen, and has left again.
            (FaultKind::Demand, _) => self.waited_for(slot, Awaited::No, is_far, plan),
            (FaultKind::Late, awaited) => self.waited_for(slot, awaited, is_far, plan),
            (FaultKind::Used, Awaited::Leads) => {
                self.waited_for(slot, Awaited::Leads, is_far, plan);
            }
            (FaultKind::Used, Awaited::Yes) => self.graph.nodes[slot.0 as usize].assumed = false,
            (FaultKind::Used, Awaited::No) => self.graph.raise(page),
        }
    }

    fn access(&mut self, page: PageId) {
        self.graph.raise(page);
    }

    fn most_unused(&self, local_pages: u64) -> u64 {
        self.graph.most_unused(local_pages)
    }

    fn unused(&mut self, page: PageId) {
        let Some(slot) = self.graph.slot_of(page) else { return };
        let Note { awaited, by } = *self.note(slot);
        if awaited != Awaited::No {
            // It was not used: that it counts as such proves nothing still.
            self.note(slot).awaited = Awaited::No;
            self.used -= self.used >> SHIFT;
            self.graph.cut(by, slot);
        }
    }
}
