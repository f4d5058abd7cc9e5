//! Tracking a sample of the pages, as a run does for policies that decide by it.

use farside_policy::replacement::ReplacementPolicy;
use farside_trace::{PageId, PageRange, PageSample};
use farside_tracking::{Tracker, TrackingOptions};

use super::{EMPTY, Paging, UNTOUCHED, WATCHED, ZERO};

/// Chooses the sample; a run chooses by chance.
const SALT: u64 = 0x5EED;

/// What is tracked of a program.
pub(super) struct Tracking {
    tracker: Tracker,
    /// Pages that the program came to and holds.
    touched: u64,
    has_begun: bool,
    /// The sample that the policy was told of.
    told: PageSample,
}

impl Tracking {
    /// Tracks pages for a policy that wants that; it has no pages yet.
    pub(super) fn of<P: ReplacementPolicy>(policy: &mut P) -> Option<Self> {
        let told = PageSample::all(SALT);
        policy.wants_sample().map(|_| {
            policy.set_sample(told);
            let tracker = Tracker::new(TrackingOptions::default(), SALT);
            Self { tracker, touched: 0, has_begun: false, told }
        })
    }
}

impl<P: ReplacementPolicy> Paging<'_, P> {
    /// Whether it is seen when this page is used.
    pub(super) fn is_tracked(&self, page: PageId) -> bool {
        let sees = |tracking: &Tracking| tracking.has_begun && tracking.tracker.sample().has(page);
        self.tracking.as_ref().is_some_and(sees)
    }

    /// The program came to more pages.
    pub(super) fn count_touched(&mut self, more: u64) {
        if let Some(tracking) = &mut self.tracking {
            tracking.touched += more;
        }
    }

    /// A page is given back.
    pub(super) fn track_forgotten(&mut self, page: PageId) {
        if let Some(tracking) = &mut self.tracking {
            tracking.touched -= 1;
            tracking.tracker.forget(page);
        }
    }

    /// The program faults on a page, which is about to be served; `is_new` if it comes there for the first time.
    pub(super) fn track(&mut self, page: PageId, is_new: bool) {
        let Some(mut tracking) = self.tracking.take() else { return };
        if !tracking.has_begun && self.faults.evicted > 0 {
            tracking.has_begun = true;
            tracking.tracker.begin(tracking.touched);
            self.learn_pages(&mut tracking.tracker);
        }
        let is_tracked = tracking.has_begun && tracking.tracker.sample().has(page);
        if is_tracked {
            let touched = tracking.touched + u64::from(is_new);
            tracking.tracker.limit_active(self.policy.wants_sample());
            tracking.tracker.visit(page, touched, is_new);
            while let Some(cooled) = tracking.tracker.leave(touched) {
                self.unmap_tracked(cooled);
            }
        }
        let sample = tracking.tracker.sample();
        if sample.halvings() != tracking.told.halvings() {
            tracking.told = sample;
            self.policy.set_sample(sample);
        }
        if is_tracked {
            self.policy.come(page);
        }
        self.tracking = Some(tracking);
    }

    /// Tracks the pages of the sample that the program came to before.
    fn learn_pages(&mut self, tracker: &mut Tracker) {
        let all = PageRange::new(PageId(0), u64::MAX);
        let touched = self.pages.pages_near(all).filter(|page| self.pages.get(*page) != UNTOUCHED);
        for page in touched.collect::<Vec<_>>() {
            if tracker.learn(page) {
                self.unmap_tracked(page);
            }
        }
    }

    /// Unmaps a page to see when it is used, if it is mapped.
    fn unmap_tracked(&mut self, page: PageId) {
        let state = self.pages.entry(page);
        // What was never used is no more known by its next use than others are.
        if *state < ZERO && *state & (WATCHED | EMPTY) == 0 {
            *state |= WATCHED;
            // Alone, as the pager moves it.
            self.next_position = self.next_position.wrapping_add(1);
            self.positions.insert(page.0, self.next_position);
            self.next_position = self.next_position.wrapping_add(1);
        }
    }
}
