//! What a prefetcher answers a fault with.

use farside_trace::{PageId, PageRange};

/// Upper bound on the number of separate runs in one [`PrefetchPlan`], unless it was made for more.
///
/// Strides and graphs lead to pages one by one, so that this is as many as the pages that are
/// fetched with a fault by default. A plan of so many runs takes a kilobyte.
pub const MAX_RUNS: usize = 64;

/// Stands for a run that is not in use.
const NO_RUN: PageRange = PageRange::new(PageId(0), 0);

/// The pages that a prefetcher wants fetched along with a fault, most urgent first.
///
/// It is only a wish: pages that are resident, on their way, outside the live part of the far
/// region or over the budget are left out by the pager.
#[derive(Clone, Debug)]
pub struct PrefetchPlan {
    runs: [PageRange; MAX_RUNS],
    len: usize,
    /// Runs after the first [`MAX_RUNS`], up to as many as there is room for.
    more: Vec<PageRange>,
    most: usize,
    touching: bool,
    lead: Option<PageId>,
}

impl PrefetchPlan {
    /// A plan without pages, for up to [`MAX_RUNS`] runs. It never allocates.
    pub const fn new() -> Self {
        let runs = [NO_RUN; MAX_RUNS];
        Self { runs, len: 0, more: Vec::new(), most: MAX_RUNS, touching: false, lead: None }
    }

    /// A plan without pages, for up to `runs` runs, at least [`MAX_RUNS`]. It allocates here and
    /// never again, and is meant to be kept and cleared.
    pub fn with_capacity(runs: usize) -> Self {
        let most = runs.max(MAX_RUNS);
        Self { more: Vec::with_capacity(most - MAX_RUNS), most, ..Self::new() }
    }

    /// Removes all runs.
    pub fn clear(&mut self) {
        self.len = 0;
        self.more.clear();
        self.touching = false;
        self.lead = None;
    }

    /// Adds a run; tells whether there was room for it. Empty runs are dropped.
    pub fn push(&mut self, run: PageRange) -> bool {
        if run.is_empty() {
            return true;
        }
        if self.len < MAX_RUNS {
            self.runs[self.len] = run;
            self.len += 1;
        } else if self.len + self.more.len() < self.most {
            self.more.push(run);
        } else {
            return false;
        }
        true
    }

    /// Adds a page, to the last run if it lies beside that one; tells whether there was room for
    /// it. The highest page number of all, which cannot be part of a range, is dropped.
    pub fn push_page(&mut self, page: PageId) -> bool {
        if page.0 == u64::MAX {
            return true;
        }
        let last = match self.more.last_mut() {
            Some(run) => Some(run),
            None => self.runs[..self.len].last_mut(),
        };
        match last {
            Some(run) if run.end() == page.0 => {
                run.count += 1;
                true
            }
            Some(run) if run.first.0 == page.0 + 1 => {
                *run = PageRange::new(page, run.count + 1);
                true
            }
            _ => self.push(PageRange::single(page)),
        }
    }

    /// Asks for the planned pages that are resident to be touched, so that they do not leave soon:
    /// the caller reports an access to each of them to the replacement policy. One that cannot may
    /// leave it.
    pub const fn touch_resident(&mut self) {
        self.touching = true;
    }

    /// Whether planned pages that are resident are to be touched.
    pub const fn touches_resident(&self) -> bool {
        self.touching
    }

    /// Asks to be told when this page of the plan is used: it is time for more then. One that cannot may leave it.
    pub const fn lead_on(&mut self, page: PageId) {
        self.lead = Some(page);
    }

    /// The page whose use is to be told.
    pub const fn leads_on(&self) -> Option<PageId> {
        self.lead
    }

    /// The runs in order of urgency.
    pub fn runs(&self) -> impl Iterator<Item = PageRange> + '_ {
        self.runs[..self.len].iter().chain(&self.more).copied()
    }

    /// Whether nothing is to be fetched.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Default for PrefetchPlan {
    fn default() -> Self {
        Self::new()
    }
}
