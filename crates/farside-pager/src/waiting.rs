//! How long the program waits in faults.

use std::cell::Cell;

use farside_wire::fault_log::Answer;

use crate::counters::Counters;
use crate::pager::{Outcome, Pager, Worker};

/// What a fault costs the program beside what is measured here: coming here, and going back.
pub(crate) const FAULT_NS: u64 = 4_000;

thread_local! {
    /// When this thread woke somebody last. What it does for a fault after that is not waited for.
    static WOKE_AT: Cell<u64> = const { Cell::new(0) };
}

impl Pager {
    /// Serves a fault, and counts how long the program waits for it, unless its page is new: the kernel would make that,
    /// too.
    pub(crate) fn count_waiting(
        &self,
        w: &mut Worker,
        serve: impl FnOnce(&mut Worker) -> Outcome,
    ) -> Outcome {
        let started = self.space.now_ns();
        w.answer = None;
        let outcome = serve(w);
        if !matches!(w.answer, None | Some(Answer::FirstTouch)) {
            Counters::add(&self.counters.waiting_ns, self.waited_since(started));
        }
        outcome
    }

    /// How long the program waited in a fault that was come to at a time, and has been served by this thread.
    pub(crate) fn waited_since(&self, started: u64) -> u64 {
        let woke = WOKE_AT.get();
        let ended = if woke > started { woke } else { self.space.now_ns() };
        ended.saturating_sub(started) + FAULT_NS
    }

    /// Somebody is about to be woken.
    pub(crate) fn note_wake(&self) {
        WOKE_AT.set(self.space.now_ns());
    }
}
