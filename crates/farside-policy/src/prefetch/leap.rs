//! Leap's majority trend (Al Maruf and Chowdhury, USENIX ATC 2020).

use farside_trace::PageId;

use super::{FaultKind, PrefetchPlan, Prefetcher};

/// The parameters of the paper.
#[derive(Copy, Clone, Debug)]
pub struct LeapOptions {
    /// Number of the latest differences that are remembered: H.
    pub history: usize,
    /// Into how many parts the history is split to find a trend in the latest first: Nsplit.
    pub splits: usize,
    /// Most pages fetched with a fault: PWsize max.
    pub most: u32,
    /// Whether a fault on one of the pages fetched last, or right after them, tells that all before it
    /// were used. Runs do not see each use; without this they would find strides as wide as their own
    /// windows.
    pub infer_uses: bool,
}

impl Default for LeapOptions {
    /// A history of 32 searched from its latest quarter on, and windows of up to 8 pages.
    fn default() -> Self {
        Self { history: 32, splits: 4, most: 8, infer_uses: true }
    }
}

/// The latest differences between the numbers of pages accessed one after another.
#[derive(Clone, Debug)]
pub struct AccessHistory {
    /// A ring; the difference that comes next goes to `next`.
    deltas: Vec<i64>,
    next: usize,
    size: usize,
    splits: usize,
    last: Option<PageId>,
}

impl AccessHistory {
    /// An empty history of `size` differences, searched in windows from `size / splits` on.
    pub fn new(size: usize, splits: usize) -> Self {
        let size = size.max(1);
        let deltas = Vec::with_capacity(size);
        Self { deltas, next: 0, size, splits: splits.max(1), last: None }
    }

    /// Notes an access; tells how far it is from the one before.
    pub fn record(&mut self, page: PageId) -> Option<i64> {
        let last = self.last.replace(page)?;
        let delta = page.0.wrapping_sub(last.0) as i64;
        self.push(delta);
        Some(delta)
    }

    /// Notes an access with an access in between that was not seen, `delta` before it.
    fn record_after_unseen(&mut self, page: PageId, delta: i64) {
        self.last = Some(page);
        self.push(delta);
    }

    fn push(&mut self, delta: i64) {
        if self.deltas.len() < self.size {
            self.deltas.push(delta);
        } else {
            self.deltas[self.next] = delta;
        }
        self.next = (self.next + 1) % self.size;
    }

    /// The latest differences, latest first.
    fn latest(&self) -> impl Iterator<Item = i64> + '_ {
        let (newer, older) = self.deltas.split_at(self.next.min(self.deltas.len()));
        newer.iter().rev().chain(older.iter().rev()).copied()
    }

    /// The difference that more than half of a window of latest accesses has. The window begins
    /// with one part of the history and doubles until there is such a difference, or the history is
    /// used up (algorithm 1).
    pub fn trend(&self) -> Option<i64> {
        let mut window = (self.size / self.splits).max(1);
        let mut vote = Vote::default();
        for (cast, delta) in (1..).zip(self.latest()) {
            vote.cast(delta);
            if cast == window {
                if let Some(trend) = self.majority(window, vote) {
                    return Some(trend);
                }
                window *= 2;
            }
        }
        // Fewer differences than the next window would hold; as long as they all count.
        let is_full = self.deltas.len() == self.size;
        (!is_full && window <= self.size).then(|| self.majority(window, vote))?
    }

    /// The candidate of a vote over the latest `window` differences, if more than half of these are equal to it.
    fn majority(&self, window: usize, vote: Vote) -> Option<i64> {
        let candidate = vote.candidate()?;
        let count = self.latest().take(window).filter(|delta| *delta == candidate).count();
        (count > window / 2).then_some(candidate)
    }
}

/// A vote on the only value that more than half of some values can have (Boyer and Moore).
#[derive(Copy, Clone, Default)]
struct Vote {
    value: i64,
    ahead: usize,
}

impl Vote {
    fn cast(&mut self, value: i64) {
        if self.ahead == 0 {
            self.value = value;
        }
        if self.value == value {
            self.ahead += 1;
        } else {
            self.ahead -= 1;
        }
    }

    fn candidate(self) -> Option<i64> {
        (self.ahead > 0).then_some(self.value)
    }
}

/// Pages asked for with one fault.
#[derive(Copy, Clone, Debug)]
struct Window {
    base: PageId,
    stride: i64,
    pages: u32,
    /// At which of them the program is, as far as is known; 0 at the base.
    reached: u32,
}

impl Window {
    /// The page at so many strides from the base; `None` if there is none.
    fn page(&self, strides: u32) -> Option<PageId> {
        let distance = self.stride.checked_mul(i64::from(strides))?;
        self.base.0.checked_add_signed(distance).map(PageId)
    }

    /// At how many strides from the base a page lies to which the program comes next.
    fn strides_to(&self, page: PageId) -> Option<u32> {
        let distance = page.0.wrapping_sub(self.base.0) as i64;
        let strides = u32::try_from(distance.checked_div(self.stride)?).ok()?;
        let is_next = (self.reached + 1..=self.pages + 1).contains(&strides);
        (is_next && self.page(strides) == Some(page)).then_some(strides)
    }
}

/// Follows the stride that most of the latest accesses have, through short interruptions.
///
/// Every fault counts as an access, whether the page was on its way or kept unmapped or not. A
/// demand fault fetches a window of pages along the trend, or along the last trend found if there
/// is none now. The window follows the uses of fetched pages since the last demand fault: the next
/// power of two after their number, or one page if there were none but the fault follows the trend,
/// or none. It never shrinks to less than half at once.
///
/// The paper looks for a trend only where a window is not empty, in which case none would ever
/// begin; here each demand fault looks for one. Where it reads *around* a page without a present
/// trend, this goes on in the last trend's direction.
#[derive(Clone, Debug)]
pub struct Leap {
    options: LeapOptions,
    history: AccessHistory,
    /// The last trend that was found.
    trend: Option<i64>,
    /// Uses of fetched pages since the last demand fault.
    hits: u32,
    /// Pages that the last demand fault could fetch: PWsize of the paper.
    size: u32,
    fetched: Option<Window>,
}

impl Leap {
    /// A prefetcher without history.
    pub fn new(options: LeapOptions) -> Self {
        let history = AccessHistory::new(options.history, options.splits);
        Self { options, history, trend: None, hits: 0, size: 0, fetched: None }
    }

    /// Notes a fault; tells how far it is from the access before.
    fn record(&mut self, page: PageId, kind: FaultKind) -> Option<i64> {
        let uses = u32::from(kind != FaultKind::Demand);
        if self.options.infer_uses
            && let Some(window) = &mut self.fetched
            && self.history.last == window.page(window.reached)
            && let Some(strides) = window.strides_to(page)
        {
            let used = strides.min(window.pages) - window.reached;
            window.reached = strides;
            self.hits = self.hits.saturating_add(used.max(uses));
            self.history.record_after_unseen(page, window.stride);
            return Some(window.stride);
        }
        self.hits = self.hits.saturating_add(uses);
        self.history.record(page)
    }

    /// How many pages to fetch now (algorithm 2).
    fn next_size(&mut self, follows_trend: bool) -> u32 {
        let size = match std::mem::take(&mut self.hits) {
            0 => u32::from(follows_trend),
            hits => hits.saturating_add(1).checked_next_power_of_two().unwrap_or(u32::MAX),
        };
        self.size = size.min(self.options.most).max(self.size / 2);
        self.size
    }
}

impl Prefetcher for Leap {
    fn name(&self) -> &'static str {
        "leap"
    }

    fn fault(&mut self, page: PageId, kind: FaultKind, plan: &mut PrefetchPlan) {
        let delta = self.record(page, kind);
        if kind != FaultKind::Demand {
            return;
        }
        self.trend = self.history.trend().or(self.trend);
        let pages = self.next_size(delta.is_some() && delta == self.trend);
        let stride = self.trend.unwrap_or(0);
        let window = Window { base: page, stride, pages, reached: 0 };
        self.fetched = (stride != 0 && pages > 0).then_some(window);
        if self.fetched.is_some() {
            (1..=pages).map_while(|strides| window.page(strides)).all(|page| plan.push_page(page));
        }
    }
}
