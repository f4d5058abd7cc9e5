//! Tracks the sampled pages of one program.

use farside_trace::{PageId, PageSample};

use crate::active::Activity;
use crate::{ActiveSet, LiveCurve, Stack};

/// Fewest pages in the active set: with fewer, the uses of a page come again at once by chance.
const LEAST_ACTIVE: u32 = 4;

/// What may be chosen about tracking.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct TrackingOptions {
    /// Pages, of all that there are, that are mapped because they are hot, and not tracked meanwhile: the size of PATH's
    /// page access buffer.
    pub active: u32,
    /// Most pages that are tracked at once.
    pub most: usize,
    /// Pages that are tracked at first, at most: more as soon as they can be afforded.
    pub first: usize,
}

impl Default for TrackingOptions {
    /// The paper's 2,048 hot pages; 65,536 tracked ones, which take up to 2 MiB, and 256 of them at first.
    fn default() -> Self {
        Self { active: 2048, most: 1 << 16, first: 256 }
    }
}

/// Follows the uses of the sampled pages of a program.
///
/// Distances are those among sampled pages, times the number of all pages over that of sampled ones, which are both
/// known: so a loop over all pages is as long as it is, whichever of them are sampled.
#[derive(Clone, Debug)]
pub struct Tracker {
    options: TrackingOptions,
    sample: PageSample,
    stack: Stack<Activity>,
    active: ActiveSet,
    curve: LiveCurve,
    /// Most pages of all that there are that are taken to be hot.
    most_active: Option<u32>,
}

impl Tracker {
    /// A tracker of all pages, until there are too many; another `salt` makes another sample.
    pub fn new(options: TrackingOptions, salt: u64) -> Self {
        Self {
            options,
            sample: PageSample::all(salt),
            stack: Stack::new(),
            active: ActiveSet::default(),
            curve: LiveCurve::new(),
            most_active: None,
        }
    }

    /// Which pages are tracked.
    pub fn sample(&self) -> PageSample {
        self.sample
    }

    /// How many pages are tracked.
    pub fn tracked(&self) -> usize {
        self.stack.len()
    }

    /// What was seen so far.
    pub fn curve(&self) -> &LiveCurve {
        &self.curve
    }

    /// Older uses count for less from now on, by this weight from 0 to 1.
    pub fn age(&mut self, weight: f64) {
        self.curve.age(weight);
    }

    /// Somebody decides by what is seen who keeps so many pages because they were used last, and no more: no more than
    /// that are taken to be hot. `None` if nobody does.
    pub fn limit_active(&mut self, pages: Option<usize>) {
        self.most_active = pages.and_then(|pages| u32::try_from(pages).ok());
    }

    /// A page that the program had come to already is tracked from now on, and not mapped.
    /// False if it is tracked already, or not to be.
    pub fn learn(&mut self, page: PageId) -> bool {
        if !self.sample.has(page) || self.stack.get_mut(page).is_some() {
            return false;
        }
        self.stack.put(page, |_| Activity::default());
        self.keep_few();
        true
    }

    /// The program came to a sampled page by a fault, one of `touched` pages that it has come to so far; `is_new` if it
    /// came to this one for the first time.
    pub fn visit(&mut self, page: PageId, touched: u64, is_new: bool) {
        let sampled = self.stack.len().max(1) as f64;
        let scale = (touched as f64 / sampled).max(1.0);
        let pages = self.active_pages(scale);
        let Self { stack, active, curve, .. } = self;
        stack.put(page, |before| {
            let (depth, known) = before.unwrap_or_default();
            let activity = active.visit(page, known, pages);
            if is_new {
                curve.add_cold(scale);
            } else if known.is_known() && !activity.is_hot() {
                curve.add((depth as f64 * scale).round() as u64, scale);
            }
            activity
        });
        self.keep_few();
    }

    /// Tracked pages that the active set has room for, where each stands for `scale` pages.
    fn active_pages(&self, scale: f64) -> u32 {
        let active = self.most_active.unwrap_or(u32::MAX).min(self.options.active);
        ((f64::from(active) / scale).round() as u32).max(LEAST_ACTIVE)
    }

    /// Takes out a page that has not been in use of late, and is to be unmapped; `touched` as above.
    pub fn leave(&mut self, touched: u64) -> Option<PageId> {
        let scale = (touched as f64 / self.stack.len().max(1) as f64).max(1.0);
        let pages = self.active_pages(scale);
        let stack = &mut self.stack;
        let ends = |page, end| stack.get_mut(page).is_some_and(|activity| activity.end(end));
        self.active.leave(pages, ends)
    }

    /// No page is tracked any more, but what was seen stays; of so many pages that the program came to, no more than a
    /// few are to be tracked at first.
    pub fn begin(&mut self, touched: u64) {
        (self.stack, self.active) = (Stack::new(), ActiveSet::default());
        while touched as f64 * self.sample.rate() > self.options.first as f64 && self.fewer() {}
    }

    /// A page was given back by the program.
    pub fn forget(&mut self, page: PageId) {
        self.stack.remove(page);
    }

    /// Half as many pages are tracked from now on, if that can be.
    pub fn fewer(&mut self) -> bool {
        let fewer = self.sample.halve();
        let sample = self.sample;
        self.stack.retain(|page| sample.has(page));
        fewer
    }

    /// Twice as many pages are tracked from now on, if that can be: the caller lets it [learn](Self::learn) of those that
    /// the program had come to.
    pub fn more(&mut self) -> bool {
        2 * self.stack.len() <= self.options.most && self.sample.double()
    }

    fn keep_few(&mut self) {
        while self.stack.len() > self.options.most && self.fewer() {}
    }
}
