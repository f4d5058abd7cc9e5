//! Read-ahead by a fixed number of pages.

use farside_trace::{PageId, PageRange};

use super::{FaultKind, PrefetchPlan, Prefetcher};

/// Fetches the pages after every page that the program had to wait for, on its way or not.
#[derive(Copy, Clone, Debug)]
pub struct FixedReadahead {
    pages: u32,
}

impl FixedReadahead {
    /// Fetches `pages` pages with each fault.
    pub const fn new(pages: u32) -> Self {
        Self { pages }
    }
}

impl Prefetcher for FixedReadahead {
    fn name(&self) -> &'static str {
        "readahead"
    }

    fn fault(&mut self, page: PageId, kind: FaultKind, plan: &mut PrefetchPlan) {
        if kind == FaultKind::Used {
            return;
        }
        // The highest page number of all cannot be part of a range.
        let Some(first) = page.0.checked_add(1) else { return };
        let count = u64::from(self.pages).min(u64::MAX - first);
        plan.push(PageRange::new(PageId(first), count));
    }
}
