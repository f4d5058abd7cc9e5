//! How threads come in: those that serve faults and complete fetches, and one that holds all of them
//! still.

use farside_far::FarError;

use crate::pager::{Pager, Worker};

pub use crate::gate::Inside;

impl Pager {
    /// Comes inside, or says that the pager is held still.
    ///
    /// Whoever calls [`fault`](Self::fault) or [`complete`](Self::complete) must be inside. Calls of
    /// the program, such as [`discard`](Self::discard), come inside by themselves.
    pub fn try_enter(&self) -> Option<Inside<'_>> {
        self.gate.try_enter()
    }

    /// Comes inside, waiting while the pager is held still.
    pub fn enter(&self) -> Inside<'_> {
        self.gate.enter(&*self.space)
    }

    /// Waits until nobody is inside, and keeps everybody out: from now on no page changes its place,
    /// but for those on flights. Several callers take turns.
    pub fn close_gate(&self) {
        self.gate.close(&*self.space);
    }

    /// Ends what [`close_gate`](Self::close_gate) began.
    pub fn open_gate(&self) {
        self.gate.open();
    }

    /// Whether pages are in transition that nobody deals with now.
    pub fn is_unfinished(&self) -> bool {
        self.is_moving() || !self.flights.is_empty()
    }

    /// Completes what was ordered of the node first, or the oldest fetch on its way that nobody waits for; false if
    /// there is none.
    pub fn complete_oldest(&self, w: &mut Worker) -> Result<bool, FarError> {
        if self.finish_oldest()? {
            return Ok(true);
        }
        match self.flights.take_oldest() {
            Some(flight) => self.complete(w, flight).map(|()| true),
            None => Ok(false),
        }
    }
}
