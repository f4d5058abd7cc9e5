//! Hints of tasks: while what they are about is on its way, the thread does other tasks (Eden, section 3.2).

use farside_far::FarError;
use farside_policy::batches::BATCH;
use farside_wire::hint_board::Count;

use super::Hint;
use crate::counters::Counters;
use crate::flight::Flight;
use crate::pager::{Pager, Worker};
use crate::word::{State, Word};

impl Pager {
    /// Sends for what the program is about to use, without waiting for it; says whether there is anything to wait
    /// for, with [`has_arrived`](Self::has_arrived).
    ///
    /// Whoever needs one of these pages first completes its fetch: a task that asks whether it has arrived, a thread
    /// that faults on it, or one that needs its frame. So nobody waits for a task that waits itself.
    ///
    /// # Errors
    /// If the far store fails.
    pub fn start(&self, w: &mut Worker, hint: &Hint) -> Result<bool, FarError> {
        let _inside = self.enter();
        if self.store.is_instant() || self.is_recorded() || self.follows_tape() {
            return self.hint_inside(w, hint).map(|()| false);
        }
        Counters::add(&self.counters.hints, 1);
        let place = self.hint_place(hint.given_at);
        self.count_hint(place, Count::Given, 1);
        let Some(pages) = self.pages_hinted(hint) else {
            Counters::add(&self.counters.hints_astray, 1);
            self.count_hint(place, Count::Astray, 1);
            return Ok(false);
        };
        let looks_ahead = self.goes_on_from(&pages, self.is_new(&pages), hint);
        let (mut at, mut waits) = (pages.start, false);
        while at < pages.end {
            let word = self.table.load(at);
            at += match word.state() {
                State::Far => {
                    waits = true;
                    self.start_task_flight(w, at, pages.end - at, hint)?
                }
                State::Busy => {
                    waits |= word.in_flight();
                    1
                }
                _ => self.bring(w, at, &pages, hint)?,
            };
        }
        if waits {
            Counters::add(&self.counters.hints_missing, 1);
            self.count_hint(place, Count::Missing, 1);
        }
        if looks_ahead {
            self.look_ahead(w, &pages, hint)?;
        }
        Ok(waits)
    }

    /// Sends for far pages from `first` on; returns how many pages are dealt with.
    fn start_task_flight(
        &self,
        w: &mut Worker,
        first: u64,
        most: u64,
        hint: &Hint,
    ) -> Result<u64, FarError> {
        let got = self.acquire(w, most.min(BATCH as u64), 1)?;
        let count = self.claim_far(first, got, Word::new(State::Busy).with_flight());
        self.budget.give(got - count);
        if count == 0 {
            return Ok(0);
        }
        let purpose = self.purpose_of(hint, &(first..first + count));
        match self.store.begin_read(first, count as u32) {
            Ok(ticket) => {
                let since = self.space.now_ns();
                let held = Some(since);
                self.flights.add(Flight {
                    ticket,
                    frames: None,
                    keep: Some(0),
                    purpose,
                    walk: None,
                    held,
                });
                Ok(count)
            }
            Err(error) => self.restore_far(first, count, error).map(|()| count),
        }
    }

    /// Whether nothing of what a task has [sent for](Self::start) is on its way any more. What has come is mapped.
    ///
    /// # Errors
    /// If the far store fails.
    pub fn has_arrived(&self, w: &mut Worker, hint: &Hint) -> Result<bool, FarError> {
        let _inside = self.enter();
        let Some(pages) = self.pages_hinted(hint) else { return Ok(true) };
        for page in pages {
            let word = self.table.load(page);
            if word.state() != State::Busy || !word.in_flight() {
                continue;
            }
            let is_ready = |flight: &Flight| self.store.is_ready(&flight.ticket);
            match self.flights.take_if(page, is_ready) {
                Some(flight) => self.complete(w, flight)?,
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}
