//! The cluster that Linux reads ahead around a swap slot.

use farside_trace::{PageId, PageRange};

use super::{FaultKind, PrefetchPlan, Prefetcher};

/// Uses that are taken for granted at first.
const INITIAL_HITS: u32 = 4;

/// Fetches the aligned block of pages around a fault, as large as the uses of the last blocks
/// suggest.
///
/// This is Linux's read-ahead by swap offset (`swap_cluster_readahead` in `mm/swap_state.c`), where
/// the page number stands for the offset in the swap area. The number of pages is that of the uses
/// of fetched pages since the last demand fault plus two, rounded up to a power of two, at least
/// four. Without any use it is two if the fault lies beside the last such fault, and else one,
/// which is the page itself. It never shrinks to less than half at once. Only demand faults fetch.
#[derive(Copy, Clone, Debug)]
pub struct SwapCluster {
    /// Most pages of a block; a power of two.
    most: u32,
    hits: u32,
    /// The last demand fault before which nothing fetched was used.
    previous: u64,
    /// Pages of the last block.
    pages: u32,
}

impl SwapCluster {
    /// Fetches at most `max_pages` pages with a fault; blocks are of the largest power of two that
    /// allows for that. Linux's default, a `page-cluster` of 3, has blocks of 8.
    pub fn new(max_pages: u32) -> Self {
        let most = 1 << (max_pages.saturating_add(1)).ilog2();
        Self { most, hits: INITIAL_HITS, previous: 0, pages: 0 }
    }

    /// How many pages the block around a fault on `page` has.
    fn next_pages(&mut self, page: u64) -> u32 {
        let hits = std::mem::take(&mut self.hits);
        let pages = if hits > 0 {
            hits.saturating_add(2).checked_next_power_of_two().unwrap_or(self.most).max(4)
        } else {
            let beside = page.abs_diff(self.previous) == 1;
            self.previous = page;
            1 + u32::from(beside)
        };
        self.pages = pages.min(self.most).max(self.pages / 2);
        self.pages
    }
}

impl Prefetcher for SwapCluster {
    fn name(&self) -> &'static str {
        "linux-swap"
    }

    fn fault(&mut self, page: PageId, kind: FaultKind, plan: &mut PrefetchPlan) {
        if kind != FaultKind::Demand {
            self.hits = self.hits.saturating_add(1);
            return;
        }
        if self.most == 1 {
            return;
        }
        let mask = u64::from(self.next_pages(page.0)) - 1;
        let first = page.0 & !mask;
        // The highest page number of all cannot be part of a range.
        let last = (page.0 | mask).min(u64::MAX - 1);
        plan.push(PageRange::new(PageId(page.0.saturating_add(1)), last.saturating_sub(page.0)));
        plan.push(PageRange::new(PageId(first), page.0 - first));
    }
}
