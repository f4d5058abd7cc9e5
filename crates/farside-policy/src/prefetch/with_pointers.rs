//! A prefetcher beside which all pointers are followed.

use farside_trace::PageId;

use super::{FaultKind, Following, PrefetchPlan, Prefetcher, registry};

/// What one prefetcher foresees, and what pointers lead to, always and everywhere.
///
/// Of the two, the pointers are followed by whoever sees memory.
#[derive(Clone, Debug)]
pub struct WithPointers<P> {
    beside: P,
}

impl<P: Prefetcher> WithPointers<P> {
    /// Has pointers followed beside this prefetcher.
    pub const fn new(beside: P) -> Self {
        Self { beside }
    }
}

impl<P: Prefetcher> Prefetcher for WithPointers<P> {
    fn name(&self) -> &'static str {
        registry::POINTER.0
    }

    fn fault(&mut self, page: PageId, kind: FaultKind, plan: &mut PrefetchPlan) {
        self.beside.fault(page, kind, plan);
    }

    fn fault_seeing(
        &mut self,
        page: PageId,
        kind: FaultKind,
        is_far: &dyn Fn(PageId) -> bool,
        plan: &mut PrefetchPlan,
    ) {
        self.beside.fault_seeing(page, kind, is_far, plan);
    }

    fn pointers(&self, _page: PageId) -> Following {
        Following::On
    }

    fn access(&mut self, page: PageId) {
        self.beside.access(page);
    }

    fn most_unused(&self, local_pages: u64) -> u64 {
        self.beside.most_unused(local_pages)
    }

    fn unused(&mut self, page: PageId) {
        self.beside.unused(page);
    }
}
