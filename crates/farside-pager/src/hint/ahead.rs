//! What a hint says will follow: a window that moves on when the program is half-way through it.

use std::ops::Range;

use farside_policy::prefetch::PrefetchPlan;
use farside_trace::{PageId, PageRange};

use super::Hint;
use crate::pager::{Outcome, Pager, Worker};
use crate::word::State;

impl Pager {
    /// Whether there was a mark among the pages; there is none now.
    pub(super) fn clear_marks(&self, pages: &Range<u64>) -> bool {
        // All are looked at.
        pages.clone().filter(|page| self.table.mark(*page, false)).count() > 0
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
