//! The fault path.

use std::ops::Range;

use farside_far::FarError;
use farside_os::memory::PAGE;
use farside_policy::batches::{self, BATCH, RESCUED_BESIDE};
use farside_policy::prefetch::{FaultKind, Walk};
use farside_policy::replacement::{Arrival, ReplacementPolicy};
use farside_wire::fault_log::Answer;
use farside_wire::hint_board::Count;

use crate::counters::Counters;
use crate::frames::{Run, bytes_at};
use crate::pager::{Outcome, Pager, Worker};
use crate::table::BLOCK_TOUCHED;
use crate::word::{State, Word};

/// [`RESCUED_BESIDE`], as an offset.
const BESIDE: i64 = RESCUED_BESIDE as i64;

/// Faults on pages that are there, after which one of these pages is looked for.
const LOOK_AFTER: u32 = 16;

impl Pager {
    /// A fault at `addr` is about to be served: everything that is known of its page lies in memory
    /// that is as cold as the page.
    pub fn expect(&self, addr: usize) {
        if self.contains(addr) {
            let page = self.page_of(addr);
            self.table.expect(page);
            self.store.expect(page);
        }
    }

    /// Serves a fault at `addr`: the program waits for the page, or for the right to write it.
    pub fn fault(&self, w: &mut Worker, addr: usize, protected: bool) -> Outcome {
        if !self.contains(addr) {
            return Ok(());
        }
        let page = self.page_of(addr);
        loop {
            let word = self.table.load(page);
            let busy = Word::new(State::Busy);
            match word.state() {
                State::Resident if protected => {
                    if self.open_for_writing(page) {
                        let first = u64::from(!word.writable());
                        Counters::add(&self.counters.protection_faults, first);
                        w.answer = Some(Answer::Protection);
                        return Ok(());
                    }
                }
                State::Resident | State::Foreign => return self.spurious(w, page),
                State::Busy => {
                    if let Some(word) = self.table.wait_for(page) {
                        return self.await_end(w, page, word);
                    }
                }
                State::Leaving => {
                    // Who waits for a page that the node is to store must see to it that this ends.
                    if !self.finish_with(page)? && self.fault_on_leaving(page, word, protected) {
                        w.answer = Some(Answer::Unmapped);
                        return Ok(());
                    }
                }
                State::Untouched | State::Zero => {
                    if let Some(word) = self.table.claim(page, word, busy) {
                        let fresh = word.state() == State::Untouched;
                        let run = if fresh { self.first_touch_run(page) } else { (1, false) };
                        return self.first_touch(w, page, word, run).map(drop);
                    }
                }
                State::Far => {
                    if self.table.claim(page, word, busy).is_some() {
                        return self.demand(w, page);
                    }
                }
                State::Watched => {
                    if let Some(outcome) = self.use_watched(w, page, true) {
                        w.answer = Some(Answer::Unmapped);
                        return outcome;
                    }
                }
            }
        }
    }

    /// The program waits for the end of a transition. What a later fault would deal with is dealt with now: there may be
    /// none, if all threads wait for this one.
    fn await_end(&self, w: &mut Worker, page: u64, word: Word) -> Outcome {
        match word.state() {
            State::Leaving => self.finish_with(page).map(drop),
            _ if word.in_flight() => self.late(w, page),
            _ => Ok(()),
        }
    }

    /// Whoever faulted finds the page, or another one, by trying again. But a page that the program dropped unseen never
    /// comes back, and nobody knows what it would have found there.
    fn spurious(&self, w: &mut Worker, page: u64) -> Outcome {
        Counters::add(&self.counters.spurious_faults, 1);
        w.spurious = w.spurious.wrapping_add(1);
        if w.spurious.is_multiple_of(LOOK_AFTER) {
            // Who evicts or fetches it meanwhile changes its word.
            let word = self.table.load(page);
            if word.state() == State::Resident
                && self.space.is_absent(self.address(page))
                && self.table.load(page) == word
            {
                return Err(FarError::Vanished(page));
            }
        }
        self.wake(page, 1);
        Ok(())
    }

    /// Maps a watched page again, wakes who waits for it if somebody does, and fetches what follows if it had been
    /// prefetched; `None` if it is not watched any more.
    pub(crate) fn use_watched(&self, w: &mut Worker, page: u64, wake: bool) -> Option<Outcome> {
        let word = self.rescue(page, wake)?;
        Some(if word.prefetched() { self.used(w, page) } else { Ok(()) })
    }

    /// Lets the program write a page it had fetched for reading; false if the page is gone.
    pub(crate) fn open_for_writing(&self, page: u64) -> bool {
        // The policy stays locked throughout, so that the page cannot be evicted and fetched again,
        // write-protected, before the call below takes effect: later writes to it would go unseen.
        let _stays = self.lock_policy();
        let word = self.table.load(page);
        let change = |word: Word| word.with_writable().without_prefetched();
        if !self.table.update(page, State::Resident, change) {
            return false;
        }
        if !word.writable() {
            self.forecast_of(page).written();
        }
        // A page that counts as writable need not be so yet, since this call can fail: the writer
        // faults again then.
        if self.space.allow_writes(self.address(page), PAGE).is_err() {
            self.wake(page, 1);
        }
        true
    }

    /// Maps a watched page again, because somebody uses it, and with it those around it that were
    /// unmapped together with it; returns the word it had. `None` if the page is not watched any more.
    fn rescue(&self, page: u64, wake: bool) -> Option<Word> {
        // The policy stays locked throughout, so that it cannot choose the pages meanwhile.
        let policy = &mut self.lock_policy();
        let word = self.claim_watched(page, None)?;
        let mut words = [word; 1 + 2 * BESIDE as usize];
        let mut claim_beside = |offset: i64| {
            let beside =
                page.checked_add_signed(offset).filter(|page| *page < self.table.pages())?;
            if self.is_tracked(beside) {
                return None;
            }
            let position = word.position().checked_add_signed(offset as i32)?;
            let claimed = self.claim_watched(beside, Some(position))?;
            words[(BESIDE + offset) as usize] = claimed;
            Some(())
        };
        let below = (1..=BESIDE).map_while(|i| claim_beside(-i)).count();
        let above = (1..=BESIDE).map_while(&mut claim_beside).count();
        let words = &words[BESIDE as usize - below..][..below + 1 + above];
        let (first, position) = (page - below as u64, words[0].position());
        self.uses.used();
        Counters::add(&self.counters.soft_faults, 1);
        let run = Run { start: position, count: words.len() as u32 };
        let is_copied = run.count == 1 && self.copy_watched(page, word, wake);
        if is_copied {
            self.area.add_spare(run);
        } else {
            self.map_frames(first, self.area.address(position), u64::from(run.count));
            self.area.leave_empty(run);
        }
        for (page, word) in (first..).zip(words) {
            policy.access(word.slot());
            let mapped = word.in_state(State::Resident).with_position(0).without_prefetched();
            let mapped = match (is_copied, word.is_as_stored()) {
                (true, _) => mapped,
                (false, true) => mapped.with_writable().with_exposed(),
                (false, false) => mapped.with_writable(),
            };
            self.publish_absent(page, mapped);
        }
        if wake && !is_copied {
            self.wake(page, 1);
        }
        Some(word)
    }

    /// Maps a copy of a watched page, write-protected, if it is foreseen that it is only read: then it can be dropped again
    /// together with others, while a frame that was moved in has to be moved out and compared. False if that is not so, or
    /// there is no other frame.
    fn copy_watched(&self, page: u64, word: Word, wake: bool) -> bool {
        if !word.is_as_stored() || !self.protects(page) || self.budget.take(1) == 0 {
            return false;
        }
        // SAFETY: the frame is out of the program's reach, and stays where it is while the page is busy.
        let bytes = unsafe { bytes_at(self.area.address(word.position()), PAGE) };
        self.copy_pages(page, bytes, true, wake);
        true
    }

    /// Takes ownership of a watched page; if a position is given, only of one whose frame lies there
    /// and that was not prefetched: such a page tells by a fault of its own whether it is used. The
    /// caller holds the policy's lock.
    pub(crate) fn claim_watched(&self, page: u64, position: Option<u32>) -> Option<Word> {
        let word = self.table.load(page);
        let fits = |position| word.position() == position && !word.prefetched();
        if word.state() != State::Watched || !position.is_none_or(fits) {
            return None;
        }
        self.table.claim(page, word, Word::new(State::Busy))
    }

    /// A page that had been prefetched and kept unmapped was used: the time to fetch what follows.
    fn used(&self, w: &mut Worker, page: u64) -> Outcome {
        Counters::add(&self.counters.prefetched_used, 1);
        self.ahead_ended(page, Count::AheadUsed);
        let plan = self.foresee_from(page, FaultKind::Used);
        if !plan.is_empty() {
            self.start_foreseen(w, &plan)?;
        }
        self.enter_resident(w, FaultKind::Used)
    }

    /// Serves the first touch of a page, and of so many untouched neighbours, above it or below; returns the
    /// lowest page that was mapped, and how many.
    pub(crate) fn first_touch(
        &self,
        w: &mut Worker,
        page: u64,
        word: Word,
        run: (u64, bool),
    ) -> Result<(u64, u64), FarError> {
        let mapped = self.populate(w, page, word, run, 0)?;
        Counters::add(&self.counters.first_touch_faults, 1);
        w.answer = Some(Answer::FirstTouch);
        Counters::add(&self.counters.populated_pages, mapped.1 - 1);
        Ok(mapped)
    }

    /// Maps zeroed frames at a page, which the caller owns, and at so many untouched neighbours, above it or below;
    /// returns the lowest page that was mapped, and how many.
    pub(crate) fn populate(
        &self,
        w: &mut Worker,
        page: u64,
        word: Word,
        (want, down): (u64, bool),
        priority: u8,
    ) -> Result<(u64, u64), FarError> {
        let fresh = word.state() == State::Untouched;
        let got = match self.acquire(w, want, 1) {
            Ok(got) => got,
            Err(error) => {
                self.publish_absent(page, word);
                return Err(error);
            }
        };
        let claimed = (1..got)
            .take_while(|i| {
                let page = if down { page - i } else { page + i };
                let next = self.table.load(page);
                let busy = Word::new(State::Busy);
                next.state() == State::Untouched && self.table.exchange(page, next, busy)
            })
            .count() as u64;
        let (first, count) = (if down { page - claimed } else { page }, 1 + claimed);
        self.budget.give(got - count);
        self.table.mark_blocks(first, first + count, BLOCK_TOUCHED);
        self.map_zeroed(w, first, count);
        if fresh {
            self.add_touched(count as i64);
        }
        let word = Word::new(State::Resident).with_writable();
        self.publish_resident(first, count, word, priority, |_| Arrival::FirstTouch);
        self.wake(first, count);
        Ok((first, count))
    }

    /// Maps zeroed frames at `count` owned pages from `first` on.
    pub(crate) fn map_zeroed(&self, w: &mut Worker, first: u64, count: u64) {
        if count == 1 || self.space.populate_zeroed(w.fresh, count as usize * PAGE).is_err() {
            for page in first..first + count {
                self.copy_pages(page, &[0; PAGE], false, false);
            }
        } else {
            self.map_frames(first, w.fresh, count);
        }
    }

    /// How many untouched pages to populate with `page`, and whether downwards: as many as were touched
    /// just before it, or else just behind it, so that growth costs ever fewer faults, and scattered
    /// touches little memory.
    fn first_touch_run(&self, page: u64) -> (u64, bool) {
        let touched = |page: u64| page < self.table.pages() && self.table.load(page).is_touched();
        let seen = 1..=BATCH as u64;
        let before = seen.clone().take_while(|i| page >= *i && touched(page - i)).count() as u64;
        let behind = if before > 0 { 0 } else { seen.take_while(|i| touched(page + i)).count() };
        let (down, grown) = (behind > 0, before.max(behind as u64));
        let run = batches::populated(grown, self.budget.used(), self.budget.limit());
        (self.held_by_program(page, run, down), down)
    }

    /// How many of `run` pages from `page` on, upwards or downwards, the program holds without a gap: others
    /// are not populated.
    pub(crate) fn held_by_program(&self, page: u64, run: u64, down: bool) -> u64 {
        let ranges = self.lock_ranges();
        if down {
            page + 1 - ranges.taken_from(page, (page + 1).saturating_sub(run))
        } else {
            ranges.taken_until(page + 1, (page + run).min(self.table.pages())) - page
        }
    }

    /// Serves a fault on a page that was on its way: completes the fetch here and now.
    pub(crate) fn late(&self, w: &mut Worker, page: u64) -> Outcome {
        Counters::add(&self.counters.late_hits, 1);
        w.answer = Some(Answer::Late);
        let plan = self.foresee_from(page, FaultKind::Late);
        if !plan.is_empty() {
            self.start_foreseen(w, &plan)?;
        }
        let walk = self.came(w, FaultKind::Late)?;
        self.end_way(w, page, walk)
    }

    /// Completes the fetch of a page that somebody waits for, who came in by `walk`.
    pub(crate) fn end_way(&self, w: &mut Worker, page: u64, walk: Option<Walk>) -> Outcome {
        match self.flights.take_with(page) {
            Some(mut flight) => {
                if flight.ticket.count == 1 {
                    // It is known already that this page is used.
                    flight.keep = Some(0);
                }
                self.complete_entered(w, flight, walk)
            }
            // If it was not ordered of the node either, somebody is completing it, or about to send for it, and wakes
            // the waiter.
            None => self.finish_with(page).map(drop),
        }
    }

    /// The program must stop: what it needs cannot be had.
    pub(crate) fn restore_far(&self, first: u64, count: u64, error: FarError) -> Outcome {
        self.leave_far(first..first + count);
        self.budget.give(count);
        Err(error)
    }

    /// Gives owned pages back as they were.
    pub(crate) fn leave_far(&self, pages: Range<u64>) {
        for page in pages {
            self.publish_absent(page, Word::new(State::Far).with_stored());
        }
    }
}
