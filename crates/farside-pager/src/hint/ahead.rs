//! What a hint says will follow: a window that moves on when the program is half-way through it.

use std::ops::Range;

use farside_policy::prefetch::PrefetchPlan;
use farside_policy::replacement::ReplacementPolicy;
use farside_trace::{PageId, PageRange};

use super::Hint;
use crate::pager::{Outcome, Pager, Worker};
use crate::word::State;

impl Pager {
    /// Whether more is to be sent for from these pages on: there was a mark among them, and there is none now; or they are
    /// `new`, so that nobody has done so. The policy is told of it.
    pub(super) fn goes_on_from(&self, pages: &Range<u64>, new: bool, hint: &Hint) -> bool {
        // All are looked at.
        let marked = pages.clone().filter(|page| self.table.mark(*page, false)).last();
        if hint.ahead != 0 {
            self.tell_of_window(marked, new.then_some(pages.start));
        }
        marked.is_some() || new
    }

    /// Tells the policy of a window that the program met, or began.
    fn tell_of_window(&self, met: Option<u64>, begun: Option<u64>) {
        let Some(page) = met.or(begun) else { return };
        let mut policy = self.lock_policy();
        let word = self.table.load(page);
        // One that is on its way has not come yet.
        match met {
            None => policy.reach(PageId(page), None),
            Some(_) if word.state() == State::Resident => {
                policy.reach(PageId(page), Some(word.slot()))
            }
            Some(_) => {}
        }
    }

    fn clear_marks(&self, pages: &Range<u64>) {
        pages.clone().for_each(|page| _ = self.table.mark(page, false));
    }

    /// Sends for what is to follow, and marks the page at which to go on.
    pub(super) fn look_ahead(&self, w: &mut Worker, pages: &Range<u64>, hint: &Hint) -> Outcome {
        let count = hint.ahead.unsigned_abs().min(self.most_foreseen());
        if count == 0 || self.follows_tape() {
            return Ok(());
        }
        let half = (count / 2).max(1);
        let (window, mark) = if hint.ahead > 0 {
            let end = (pages.end + count).min(self.table.pages());
            (pages.end..end, pages.end - 1 + half)
        } else {
            (pages.start.saturating_sub(count)..pages.start, pages.start.saturating_sub(half))
        };
        // Two marks in one stream would each bring half of what one does.
        self.clear_marks(&window);
        let mut plan = PrefetchPlan::new();
        for run in self.far_runs(window) {
            if !plan.push(run) {
                break;
            }
        }
        let purpose = self.purpose_of(hint, pages).ahead();
        self.start_flights(w, &plan, count, purpose)?;
        if mark < self.table.pages() && !pages.contains(&mark) {
            self.table.mark(mark, true);
        }
        Ok(())
    }

    /// The runs of far pages among `pages`.
    fn far_runs(&self, pages: Range<u64>) -> impl Iterator<Item = PageRange> + '_ {
        let is_far = |page: &u64| self.table.load(*page).state() == State::Far;
        let mut at = pages.start;
        std::iter::from_fn(move || {
            let first = (at..pages.end).find(is_far)?;
            let end = (first..pages.end).find(|page| !is_far(page)).unwrap_or(pages.end);
            at = end;
            Some(PageRange::new(PageId(first), end - first))
        })
    }
}
