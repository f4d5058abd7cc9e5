//! Hints: the program says what it is about to use, and then uses it without a fault (Eden, section 3).

mod ahead;
mod done;
mod list;
mod task;
mod watch;

pub use watch::HintWatch;

use std::ops::Range;

use farside_far::{FarError, Ticket};
use farside_policy::batches::BATCH;
use farside_wire::hint_board::Count;
use smallvec::SmallVec;

use crate::counters::Counters;
use crate::kept::Kept;
use crate::pager::{Outcome, Pager, Worker};
use crate::purpose::Purpose;
use crate::word::{State, Word};

/// What the program is about to use.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    /// Its first byte.
    pub address: usize,
    /// Bytes; 0 stands for 1.
    pub size: usize,
    /// Whether it will be written: it is mapped so that it can be.
    pub write: bool,
    /// So many pages that follow it will be used next; if negative, pages that lie before it.
    pub ahead: i64,
    /// Eviction priority of the pages that come; see
    /// [`prioritize`](farside_policy::replacement::ReplacementPolicy::prioritize).
    pub priority: u8,
    /// The address behind the call that gives it; 0 if that is not known.
    pub given_at: usize,
}

impl Hint {
    /// How many pages are to come after those at hand.
    fn forwards(&self) -> u64 {
        u64::try_from(self.ahead).unwrap_or(0)
    }
}

impl Pager {
    /// Sees to it that the program can use a range at once, and that what is to follow is on its way.
    ///
    /// Pages that somebody else deals with are left to him; the program waits for them when it uses them. Of a range
    /// that is large for the local memory only the beginning comes.
    ///
    /// # Errors
    /// If the far store fails.
    pub fn hint(&self, w: &mut Worker, hint: &Hint) -> Outcome {
        let _inside = self.enter();
        self.hint_inside(w, hint)
    }

    fn hint_inside(&self, w: &mut Worker, hint: &Hint) -> Outcome {
        Counters::add(&self.counters.hints, 1);
        let place = self.hint_place(hint.given_at);
        self.count_hint(place, Count::Given, 1);
        let Some(pages) = self.pages_hinted(hint) else {
            Counters::add(&self.counters.hints_astray, 1);
            self.count_hint(place, Count::Astray, 1);
            return Ok(());
        };
        // What comes without a fault would be used without one, and not be noted.
        if self.is_recorded() {
            return Ok(());
        }
        let is_here = |page: u64| self.table.load(page).state() == State::Resident;
        let missing = !pages.clone().all(is_here);
        if missing {
            Counters::add(&self.counters.hints_missing, 1);
            self.count_missing(place, &pages);
        }
        let is_new = missing && self.is_new(&pages);
        let looks_ahead = self.goes_on_from(&pages, is_new, hint);
        let sent = self.send_for_hinted(&pages)?;
        let takes_time = !self.store.is_instant();
        let ahead =
            if looks_ahead && takes_time { self.look_ahead(w, &pages, hint) } else { Ok(()) };
        let arrived = sent.into_iter().try_for_each(|read| self.receive(w, read, &pages, hint));
        arrived.and(ahead)?;
        let mut at = pages.start;
        while at < pages.end {
            at += self.bring(w, at, &pages, hint)?;
        }
        if looks_ahead && !takes_time {
            self.look_ahead(w, &pages, hint)?;
        }
        Ok(())
    }

    /// Whether some of the pages are neither here nor on their way: nobody has looked ahead from there. Or they are
    /// watched to see their first use: such a page keeps no mark, so that nobody may ever look ahead from it.
    fn is_new(&self, pages: &Range<u64>) -> bool {
        pages.clone().any(|page| {
            let word = self.table.load(page);
            match word.state() {
                State::Far | State::Untouched | State::Zero => true,
                State::Watched => word.prefetched(),
                _ => false,
            }
        })
    }

    /// What pages are fetched for because of a hint at some of them.
    fn purpose_of(&self, hint: &Hint, pages: &Range<u64>) -> Purpose {
        let place = self.hint_place(hint.given_at);
        Purpose::hinted(pages.clone(), hint.write, hint.priority).given_at(place)
    }

    /// The pages that a hint is about; `None` if they cannot be meant.
    fn pages_hinted(&self, hint: &Hint) -> Option<Range<u64>> {
        let last = hint.address.checked_add(hint.size.max(1) - 1)?;
        if !self.contains(hint.address) || !self.contains(last) {
            return None;
        }
        let first = self.page_of(hint.address);
        let end = self.page_of(last) + 1;
        Some(first..end.min(first + self.most_foreseen().max(1)))
    }

    /// Sends for what is far, if that takes time.
    fn send_for_hinted(&self, pages: &Range<u64>) -> Result<SmallVec<[Ticket; 4]>, FarError> {
        let mut sent = SmallVec::new();
        if self.store.is_instant() || self.follows_tape() {
            return Ok(sent);
        }
        let mut at = pages.start;
        while at < pages.end {
            let most = (pages.end - at).min(BATCH as u64);
            let count = self.claim_far(at, most, Word::new(State::Busy));
            if count > 0 {
                match self.store.begin_read(at, count as u32) {
                    Ok(ticket) => sent.push(ticket),
                    Err(error) => {
                        self.leave_far(at..at + count);
                        for Ticket { first, count, .. } in sent {
                            self.leave_far(first..first + u64::from(count));
                        }
                        return Err(error);
                    }
                }
            }
            at += count.max(1);
        }
        Ok(sent)
    }

    /// Waits for pages that were sent for, and maps as many as there is room for.
    fn receive(&self, w: &mut Worker, ticket: Ticket, pages: &Range<u64>, hint: &Hint) -> Outcome {
        let (first, count) = (ticket.first, u64::from(ticket.count));
        let got = match self.acquire(w, count, 1) {
            Ok(got) => got,
            Err(error) => {
                self.leave_far(first..first + count);
                return Err(error);
            }
        };
        if let Err(error) = self.store.finish_read(ticket, w.bounce(count as usize)) {
            self.leave_far(first..first + count);
            self.budget.give(got);
            return Err(error);
        }
        self.leave_far(first + got..first + count);
        self.land(w.bounce(got as usize), first, self.purpose_of(hint, pages), &Kept::NONE);
        Ok(())
    }

    /// Deals with one page, and with others of the range if they come together; returns how many. 0 means that
    /// something has changed.
    fn bring(
        &self,
        w: &mut Worker,
        page: u64,
        pages: &Range<u64>,
        hint: &Hint,
    ) -> Result<u64, FarError> {
        let word = self.table.load(page);
        match word.state() {
            State::Resident if hint.write && !word.writable() => {
                Ok(u64::from(self.open_for_writing(page)))
            }
            State::Resident | State::Foreign => Ok(1),
            State::Far if !self.follows_tape() => self.bring_far(w, page, pages, hint),
            State::Untouched | State::Zero => self.bring_zeros(w, page, word, pages, hint),
            State::Busy if word.in_flight() => self.late(w, page).map(|()| 1),
            // Whoever is at it does not wait for us.
            State::Busy => Ok(1),
            State::Watched => {
                self.use_watched(w, page, false).map_or(Ok(0), |used| used.map(|()| 1))
            }
            State::Far | State::Leaving => {
                self.fault(w, self.address(page), hint.write).map(|()| 1)
            }
        }
    }

    /// Fetches a run of far pages at once, and with it what follows.
    fn bring_far(
        &self,
        w: &mut Worker,
        page: u64,
        pages: &Range<u64>,
        hint: &Hint,
    ) -> Result<u64, FarError> {
        let own = pages.end - page;
        let ahead = hint.forwards().min(self.most_foreseen());
        let most = (own + ahead).min(BATCH as u64);
        let count = self.claim_far(page, most, Word::new(State::Busy));
        if count > 0 {
            self.fetch_run(w, page, count, self.purpose_of(hint, pages))?;
        }
        Ok(count.min(own))
    }

    /// Maps zeroed frames where nothing was written yet: as far as the range goes and, if it will be written, what
    /// is to follow.
    fn bring_zeros(
        &self,
        w: &mut Worker,
        page: u64,
        word: Word,
        pages: &Range<u64>,
        hint: &Hint,
    ) -> Result<u64, FarError> {
        let want = if hint.write { pages.end - page + hint.forwards() } else { 1 };
        let want = want.min(BATCH as u64).min(self.most_foreseen().max(1));
        let run = self.held_by_program(page, want, false);
        if run == 0 {
            return Ok(1);
        }
        let run = if word.state() == State::Zero { 1 } else { run };
        match self.table.claim(page, word, Word::new(State::Busy)) {
            Some(word) => {
                let (_, count) = self.populate(w, page, word, (run, false), hint.priority)?;
                Counters::add(&self.counters.hinted_pages, count);
                self.count_hint(self.hint_place(hint.given_at), Count::Brought, count);
                Ok(count.min(pages.end - page))
            }
            None => Ok(0),
        }
    }
}
