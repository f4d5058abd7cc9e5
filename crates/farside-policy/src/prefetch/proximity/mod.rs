//! The page proximity graph (PATH, sections 4.3 and 6.3).

mod edges;
mod graph;
mod in_run;
mod known;
mod met;
mod options;

use farside_trace::PageId;

use super::{FaultKind, PrefetchPlan, Prefetcher};
use edges::Wide;
use graph::Graph;

pub use in_run::ProximityInRun;
pub use options::ProximityOptions;

/// Fetches the pages that followed a page the last times it faulted, and those that followed them.
///
/// On a fault, the window of the LRU stack above the page holds what was accessed after its last
/// access. Pages of its proximity set found there gain weight, others lose weight and leave the set
/// at zero, and pages of the window fill up the set, the nearest first, with a weight of one. Then
/// the graph is walked breadth first, along heavier edges first, and what it meets is asked for.
/// Pages of the plan that are resident are to be touched, so that they stay.
///
/// The prefetcher needs to be told of accesses; [`ProximityInRun`] does with those that a run can see. All memory is
/// allocated when it is made: for each page that can be known 20 bytes, and 8 for each page of its set. Pages beyond 2^37,
/// which no address has, are not remembered.
#[derive(Clone, Debug)]
pub struct Proximity(Graph<Wide>);

impl Proximity {
    /// A prefetcher that knows of no page yet.
    pub fn new(options: ProximityOptions) -> Self {
        Self(Graph::new(options))
    }

    /// The pages that followed `page`, and the weight of each; the heaviest first.
    pub fn set_of(&self, page: PageId) -> impl Iterator<Item = (PageId, u16)> + '_ {
        self.0.set_of(page)
    }
}

impl Prefetcher for Proximity {
    fn name(&self) -> &'static str {
        super::registry::PROXIMITY
    }

    fn fault(&mut self, page: PageId, kind: FaultKind, plan: &mut PrefetchPlan) {
        let graph = &mut self.0;
        if kind == FaultKind::Used {
            graph.raise(page);
            return;
        }
        let known = graph.known.find(page);
        if let Some(slot) = known {
            graph.update(slot);
        }
        graph.raise(page);
        if let Some(slot) = known {
            graph.walk(slot, false, plan);
            plan.touch_resident();
        }
    }

    fn access(&mut self, page: PageId) {
        self.0.raise(page);
    }

    fn most_unused(&self, local_pages: u64) -> u64 {
        super::share(local_pages, self.0.options.unused_permille)
    }
}
