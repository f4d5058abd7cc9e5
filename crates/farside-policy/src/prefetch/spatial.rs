//! The pages after a fault, as many as prove useful (PATH, sections 4.3 and 6.3).

use farside_trace::{PageId, PageRange};

use super::{FaultKind, PrefetchPlan, Prefetcher};

/// What the paper leaves open, and what it states.
#[derive(Copy, Clone, Debug)]
pub struct SpatialOptions {
    /// Pages fetched with a fault at first: w.
    pub first: u32,
    /// Fewest pages fetched with a fault.
    pub least: u32,
    /// Most pages fetched with a fault.
    pub most: u32,
    /// Fetched pages whose fate must be known before the number changes.
    pub sample: u32,
    /// Share of them that must have been used for the number to double, in thousandths.
    pub grow_permille: u32,
    /// Share below which the number halves, in thousandths.
    pub shrink_permille: u32,
    /// Most local memory for pages fetched and not used yet, in thousandths.
    pub unused_permille: u64,
}

impl Default for SpatialOptions {
    /// The paper's 64 pages and tenth of the memory; the rest is a choice.
    fn default() -> Self {
        Self {
            first: 64,
            least: 1,
            most: 1024,
            sample: 64,
            grow_permille: 750,
            shrink_permille: 500,
            unused_permille: 100,
        }
    }
}

/// Fetches the next w pages after each page that the program waits for, where w doubles while most
/// of what was fetched is used, and halves while less than half of it is.
///
/// Uses are counted from the faults that tell of them, and from pages that leave unused. In a run
/// these are a sample, of which the share is taken all the same.
#[derive(Copy, Clone, Debug)]
pub struct Spatial {
    options: SpatialOptions,
    window: u32,
    used: u32,
    unused: u32,
}

impl Spatial {
    /// A prefetcher that knows of no page yet.
    pub fn new(options: SpatialOptions) -> Self {
        let most = options.most.max(options.least);
        let options = SpatialOptions { most, ..options };
        let window = options.first.clamp(options.least, most);
        Self { options, window, used: 0, unused: 0 }
    }

    /// Pages fetched with the next fault.
    pub const fn window(&self) -> u32 {
        self.window
    }

    /// Changes the window once enough is known of the pages fetched.
    fn adapt(&mut self) {
        let known = u64::from(self.used) + u64::from(self.unused);
        if known < u64::from(self.options.sample.max(1)) {
            return;
        }
        let used = u64::from(self.used) * 1000;
        if used >= known * u64::from(self.options.grow_permille) {
            self.window = self.window.saturating_mul(2).max(1).min(self.options.most);
        } else if used < known * u64::from(self.options.shrink_permille) {
            self.window = (self.window / 2).max(self.options.least);
        }
        (self.used, self.unused) = (0, 0);
    }
}

impl Prefetcher for Spatial {
    fn name(&self) -> &'static str {
        "spatial"
    }

    fn fault(&mut self, page: PageId, kind: FaultKind, plan: &mut PrefetchPlan) {
        if kind != FaultKind::Demand {
            self.used += 1;
            self.adapt();
        }
        if kind == FaultKind::Used {
            return;
        }
        // The highest page number of all cannot be part of a range.
        let Some(first) = page.0.checked_add(1) else { return };
        plan.push(PageRange::new(PageId(first), u64::from(self.window).min(u64::MAX - first)));
    }

    fn most_unused(&self, local_pages: u64) -> u64 {
        super::share(local_pages, self.options.unused_permille)
    }

    fn unused(&mut self, _page: PageId) {
        self.unused += 1;
        self.adapt();
    }
}
