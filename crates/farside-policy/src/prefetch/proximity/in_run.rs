//! Proximity with what a run sees of accesses.

use farside_trace::PageId;

use super::edges::Packed;
use super::graph::{Graph, Rate};
use super::known::Awaited;
use super::{FaultKind, PrefetchPlan, Prefetcher, ProximityOptions};
use crate::replacement::Slot;

/// Greatest weight of an edge: what was right for long must not be believed for as long again.
const MOST_WEIGHT: u16 = 4;

/// Least weight of an edge that is followed: what came after a page once may have come by chance.
const LEAST_WEIGHT: u16 = 2;

/// Below this only the heaviest edges are followed: the others come about by chance.
const TRUSTED: Rate = Rate::MAX / 2;

/// One answer changes the rate by 1/2^shift of what is left.
const SHIFT: u32 = 5;

/// Bytes for each page that is known.
const MOST_BYTES: usize = 32;

const _: () = assert!(Graph::<Packed>::bytes_each(ProximityOptions::OF_RUNS.set) <= MOST_BYTES);

/// Tells whether a page is far.
type IsFar<'a> = &'a dyn Fn(PageId) -> bool;

/// The page proximity graph for a caller that sees accesses only where pages fault, and of those that were fetched ahead
/// only now and then whether they are used.
///
/// Pages that are asked for count as accessed, in the order of the walk, so that the stack holds what the program probably
/// did; as long as that is not known it proves nothing, and changes no weight. One that is used among the last of them
/// leads on: so the program need not come to a page that is not there for the next ones to be fetched. One that is seen
/// to leave unused takes the edge away that led to it, and where most do only the heaviest edges are followed.
///
/// With the [options of runs](ProximityOptions::OF_RUNS) it takes 32 bytes for each page that it knows, and 20 and 4 for
/// each page of a set with others. Sets are small, and the walk is long instead: of an order that comes again the sets of
/// pages that follow one another hold much the same.
#[derive(Clone, Debug)]
pub struct ProximityInRun {
    graph: Graph<Packed>,
    /// How many of the pages of which something is told were used.
    used: Rate,
    /// Whether walks learn of the pages that they come to.
    learns: bool,
    /// Pages that there is room for in a walk.
    most: u32,
    /// Pages of the stack that there is room for.
    window: usize,
}

impl ProximityInRun {
    /// A prefetcher that knows of no page yet.
    pub fn new(options: ProximityOptions) -> Self {
        let graph = Graph::new(ProximityOptions { most_weight: MOST_WEIGHT, ..options });
        let ProximityOptions { most, window, .. } = graph.options;
        Self { graph, used: Rate::MAX / 4 * 3, learns: true, most, window }
    }

    /// Pages that are known.
    pub fn known(&self) -> usize {
        self.graph.known.len()
    }

    /// How many of 65,536 pages that come and have a set are followed by something of it, of late.
    pub fn again(&self) -> u16 {
        self.graph.again
    }

    /// The same, but what is learnt of a page that is asked for is of use from the next walk on: pages are asked for later, and
    /// fewer of them in vain.
    pub fn cautious(options: ProximityOptions) -> Self {
        Self { learns: false, ..Self::new(options) }
    }

    /// From now on it asks for no more pages at once, and no more than it was made for.
    pub fn ask_for_at_most(&mut self, pages: u32) {
        self.graph.options.most = pages.min(self.most);
    }

    /// From now on so many pages of the stack are looked at on a fault, and no more than it was made for.
    pub fn look_at(&mut self, pages: usize) {
        self.graph.options.window = pages.min(self.window);
    }

    /// Asks for the pages around one, which count as accessed from now on.
    fn ask_from(&mut self, slot: Slot, is_far: IsFar<'_>, plan: &mut PrefetchPlan) {
        self.graph.options.least_weight =
            if self.used < TRUSTED { MOST_WEIGHT } else { LEAST_WEIGHT };
        self.graph.walk(slot, self.learns, plan);
        plan.touch_resident();
        if let Some(page) = self.middle_of_far(is_far) {
            plan.lead_on(page);
        }
        let count = self.graph.queue.len();
        for index in 1..count {
            let (asked, by) = self.graph.queue[index];
            if !self.learns {
                self.learn(asked);
            }
            self.graph.known.make_youngest(asked);
            self.graph.known.assume(asked, true);
            let awaited = if 2 * index >= count { Awaited::Leads } else { Awaited::Yes };
            self.graph.known.set_note(asked, awaited, by);
        }
    }

    /// Of the pages of the latest walk that have to be fetched the one in the middle.
    fn middle_of_far(&self, is_far: IsFar<'_>) -> Option<PageId> {
        let asked = self.graph.queue.iter().skip(1);
        let pages = asked.map(|(asked, _)| self.graph.known.page(*asked));
        let mut far = pages.filter(|page| is_far(*page));
        let count = far.clone().count();
        far.nth(count / 2)
    }

    /// Compares what followed the last access of a page with its set, if that access was seen.
    fn learn(&mut self, slot: Slot) {
        if !self.graph.known.is_assumed(slot) {
            self.graph.update(slot);
        }
    }

    /// What was noted of a page, which is here and used now.
    fn take(&mut self, slot: Slot) -> Awaited {
        let (awaited, _) = self.graph.known.note(slot);
        self.graph.known.set_awaited(slot, Awaited::No);
        awaited
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
            self.graph.known.make_youngest(slot);
        }
        self.graph.known.assume(slot, false);
        self.ask_from(slot, is_far, plan);
    }
}

impl Prefetcher for ProximityInRun {
    fn name(&self) -> &'static str {
        super::super::registry::PROXIMITY
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
        let Some(slot) = self.graph.known.find(page) else {
            self.graph.raise(page);
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
            (FaultKind::Used, Awaited::Yes) => self.graph.known.assume(slot, false),
            (FaultKind::Used, Awaited::No) => self.graph.raise(page),
        }
    }

    fn access(&mut self, page: PageId) {
        self.graph.raise(page);
    }

    fn most_unused(&self, local_pages: u64) -> u64 {
        super::super::share(local_pages, self.graph.options.unused_permille)
    }

    fn unused(&mut self, page: PageId) {
        let Some(slot) = self.graph.known.find(page) else { return };
        let (awaited, by) = self.graph.known.note(slot);
        if awaited != Awaited::No {
            // It was not used: that it counts as such proves nothing still.
            self.graph.known.set_awaited(slot, Awaited::No);
            self.used -= self.used >> SHIFT;
            self.graph.cut(by, slot);
        }
    }
}
