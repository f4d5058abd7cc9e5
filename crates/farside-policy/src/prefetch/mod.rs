//! Which far pages to fetch before they are asked for.
//!
//! A prefetcher is a module of its own beside this one and one line in the table that [`by_name`]
//! searches.

mod fixed;
mod linux;
mod none;
mod registry;

pub use fixed::FixedReadahead;
pub use linux::LinuxWindow;
pub use none::NoPrefetch;
pub use registry::{NAMES, by_name};

use farside_trace::{PageId, PageRange};

/// What kind of fault a prefetcher is told of.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// The program waits for a page that nobody had asked for.
    Demand,
    /// The program waits for a page that was already on its way.
    Late,
    /// The program touched a page that was prefetched and had been kept unmapped to learn of that.
    Used,
}

/// Upper bound on the number of separate runs in one [`PrefetchPlan`].
pub const MAX_RUNS: usize = 16;

/// The pages that a prefetcher wants fetched along with a fault, most urgent first.
///
/// It is only a wish: pages that are resident, on their way, outside the live part of the far region
/// or over the budget are left out by the pager.
#[derive(Clone, Debug, Default)]
pub struct PrefetchPlan {
    runs: [Option<PageRange>; MAX_RUNS],
    len: usize,
}

impl PrefetchPlan {
    /// A plan without pages.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes all runs.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Adds a run; empty runs and those over [`MAX_RUNS`] are dropped.
    pub fn push(&mut self, run: PageRange) {
        if !run.is_empty() && self.len < MAX_RUNS {
            self.runs[self.len] = Some(run);
            self.len += 1;
        }
    }

    /// The runs in order of urgency.
    pub fn runs(&self) -> impl Iterator<Item = PageRange> + '_ {
        self.runs[..self.len].iter().flatten().copied()
    }

    /// Whether nothing is to be fetched.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Foresees page accesses.
pub trait Prefetcher: Send {
    /// The name a user selects the prefetcher by.
    fn name(&self) -> &'static str;

    /// `page` faulted; adds to `plan` what to fetch besides `page` itself.
    fn fault(&mut self, page: PageId, kind: FaultKind, plan: &mut PrefetchPlan);

    /// A page this prefetcher had asked for left memory, or was freed, without having been touched,
    /// as far as is known.
    fn unused(&mut self, page: PageId) {
        let _ = page;
    }
}

impl<F: Prefetcher + ?Sized> Prefetcher for Box<F> {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn fault(&mut self, page: PageId, kind: FaultKind, plan: &mut PrefetchPlan) {
        (**self).fault(page, kind, plan);
    }

    fn unused(&mut self, page: PageId) {
        (**self).unused(page);
    }
}
