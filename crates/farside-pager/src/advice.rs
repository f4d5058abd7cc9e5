//! What the program says of ranges it will need, or not, carried out in the background.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use farside_far::FarError;
use farside_policy::prefetch::PrefetchPlan;
use farside_trace::{PageId, PageRange};

use crate::pager::{Pager, Worker};
use crate::purpose::Purpose;

/// Most ranges that wait; advice beyond it is dropped, as advice may be.
const MAX_WAITING: usize = 64;

/// What is said of a range.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Said {
    /// It will be needed soon.
    Needed,
    /// It will not be needed soon.
    Cold,
}

/// A range of pages, from the first to before the second, and what is said of it.
type Piece = (u64, u64, Said);

/// Advice that waits to be carried out.
#[derive(Default)]
pub struct Advice {
    waiting: Mutex<VecDeque<Piece>>,
}

impl Advice {
    fn push(&self, piece: Piece) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < MAX_WAITING && piece.0 < piece.1 {
            waiting.push_back(piece);
        }
    }

    fn pop(&self) -> Option<Piece> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

impl Pager {
    /// Notes what is said of the pages from `first` to before `end`.
    pub(crate) fn advise(&self, first: u64, end: u64, said: Said) {
        self.advice.push((first, end, said));
        self.flights.poke();
    }

    /// Carries out one piece of advice; false if there is none.
    pub(crate) fn follow_advice(&self, w: &mut Worker) -> Result<bool, FarError> {
        let Some((first, end, said)) = self.advice.pop() else { return Ok(false) };
        // More than fits would push out its own beginning.
        let most = match said {
            Said::Needed => (self.budget.limit() / 2).max(1),
            Said::Cold => u64::MAX,
        };
        let end = end.min(first.saturating_add(most));
        for (start, stop) in self.table.touched_stretches(first, end) {
            match said {
                // What came without a fault would be used without one.
                Said::Needed if self.is_recorded() => {}
                Said::Needed => self.fetch_stretch(w, start, stop)?,
                Said::Cold => self.evict_stretch(w, start, stop)?,
            }
        }
        Ok(true)
    }

    fn fetch_stretch(&self, w: &mut Worker, first: u64, end: u64) -> Result<(), FarError> {
        let mut plan = PrefetchPlan::new();
        plan.push(PageRange::new(PageId(first), end - first));
        self.start_flights(w, &plan, end - first, Purpose::NONE)
    }
}
