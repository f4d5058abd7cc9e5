//! No prefetching.

use farside_trace::PageId;

use super::{FaultKind, PrefetchPlan, Prefetcher};

/// Never fetches anything that was not asked for.
#[derive(Copy, Clone, Debug, Default)]
pub struct NoPrefetch;

impl Prefetcher for NoPrefetch {
    fn name(&self) -> &'static str {
        "none"
    }

    fn fault(&mut self, _page: PageId, _kind: FaultKind, _plan: &mut PrefetchPlan) {}
}
