//! Fetching what nobody waits for yet.

use farside_far::FarError;
use farside_os::memory::PAGE;
use farside_policy::batches::BATCH;
use farside_policy::prefetch::{FaultKind, Fetches, PrefetchPlan, Walk};
use farside_policy::replacement::ReplacementPolicy;
use farside_trace::PageId;

use crate::fetch::MOVE_FROM;
use crate::flight::Flight;
use crate::frames::{Run, bytes_at};
use crate::kept::Kept;
use crate::pager::{Outcome, Pager, Worker};
use crate::purpose::Purpose;
use crate::word::{State, Word};

/// Pages of one flight: late hits wait for the whole flight, so that it must not be long.
const FLIGHT_PAGES: u64 = 16;

/// The same of what a hint has read ahead: it is sent for when the program is half-way to it, and fewer, longer flights
/// interrupt the program less.
const HINTED_PAGES: u64 = 32;

/// The part of local memory that pages may have which are left to the next hint.
const LEFT_PART: u64 = 16;

/// How long the completer waits between two looks at a pager that is held still.
const HELD_STILL_NS: u64 = 100_000;

impl Pager {
    /// What the prefetcher foresees of a fault.
    pub(crate) fn foresee_from(&self, page: u64, kind: FaultKind) -> PrefetchPlan {
        let is_far = |page: PageId| {
            page.0 < self.table.pages() && self.table.load(page.0).state() == State::Far
        };
        let mut plan = PrefetchPlan::new();
        self.lock_prefetcher().fault_seeing(PageId(page), kind, &is_far, &mut plan);
        self.note_strangers(&plan);
        plan
    }

    /// Fetches what a fault lets foresee.
    pub(crate) fn start_foreseen(&self, w: &mut Worker, plan: &PrefetchPlan) -> Outcome {
        if plan.touches_resident() {
            self.protect_planned(plan);
        }
        self.start_flights(w, plan, self.most_foreseen(), Purpose::NONE)
    }

    /// Pages of a plan that are here are about to be used: they are to stay.
    fn protect_planned(&self, plan: &PrefetchPlan) {
        // A slot stands for its page while the policy is locked.
        let mut policy = self.lock_policy();
        let pages = plan.runs().flat_map(|run| run.first.0..run.end().min(self.table.pages()));
        for page in pages {
            let word = self.table.load(page);
            if matches!(word.state(), State::Resident | State::Watched) {
                policy.access(word.slot());
            }
        }
    }

    /// Most pages that one fault fetches besides its own: with more, they would push out the page that
    /// the program waits for before it is used.
    pub(crate) fn most_foreseen(&self) -> u64 {
        self.budget.limit() / 4
    }

    /// Most pages on their way that are left to the hints at them, rather than to the completer.
    fn most_left(&self) -> u64 {
        self.budget.limit() / LEFT_PART
    }

    /// Fetches `most` pages of a plan: at once if that takes no time, else without waiting for them.
    pub(crate) fn start_flights(
        &self,
        w: &mut Worker,
        plan: &PrefetchPlan,
        most: u64,
        purpose: Purpose,
    ) -> Outcome {
        let mut left = most;
        for run in plan.runs() {
            let mut at = run.first.0;
            let end = run.end().min(self.table.pages()).min(at + left);
            left -= end.saturating_sub(at);
            while at < end {
                let step = if self.store.is_instant() {
                    self.fetch_now(w, at, end - at, purpose)?
                } else {
                    // The last page of a flight can stay unmapped by itself.
                    let lead = plan.leads_on().filter(|page| (at..end).contains(&page.0));
                    let most = lead.map_or(end - at, |page| page.0 + 1 - at);
                    match self.start_flight(w, at, most, purpose, lead)? {
                        Some(step) => step,
                        None => return Ok(()),
                    }
                };
                at += step;
            }
        }
        Ok(())
    }

    /// Fetches far pages from `first` on; returns how far it came.
    fn fetch_now(
        &self,
        w: &mut Worker,
        first: u64,
        most: u64,
        purpose: Purpose,
    ) -> Result<u64, FarError> {
        let count = self.claim_far(first, most.min(BATCH as u64), Word::new(State::Busy));
        if count > 0 {
            self.fetch_run(w, first, count, purpose)?;
        }
        Ok(count.max(1))
    }

    /// Sends for far pages from `first` on; returns how far it came, or `None` if there is no room.
    fn start_flight(
        &self,
        w: &mut Worker,
        first: u64,
        most: u64,
        purpose: Purpose,
        lead: Option<PageId>,
    ) -> Result<Option<u64>, FarError> {
        let want = most.min(if purpose.is_hinted() { HINTED_PAGES } else { FLIGHT_PAGES });
        if want >= MOVE_FROM
            && let Some(run) = self.spare_frames(w, want)?
        {
            return self.start_flight_into(run, first, purpose, lead);
        }
        let got = self.acquire(w, want, 0)?;
        let count = self.claim_far(first, got, Word::new(State::Busy).with_flight());
        self.budget.give(got - count);
        if got == 0 {
            return Ok(None);
        }
        if count > 0 {
            match self.store.begin_read(first, count as u32) {
                Ok(ticket) => self.flights.start(Flight {
                    ticket,
                    frames: None,
                    keep: kept_from(lead, first, count),
                    purpose,
                    walk: None,
                    held: None,
                }),
                Err(error) => return self.restore_far(first, count, error).map(|()| None),
            }
        }
        Ok(Some(count.max(1)))
    }

    /// Sends for as many far pages from `first` on as there are frames; returns how far it came.
    fn start_flight_into(
        &self,
        run: Run,
        first: u64,
        purpose: Purpose,
        lead: Option<PageId>,
    ) -> Result<Option<u64>, FarError> {
        let busy = Word::new(State::Busy).with_flight();
        let count = self.claim_far(first, u64::from(run.count), busy) as u32;
        let left = Run { start: run.start + count, count: run.count - count };
        if left.count > 0 {
            self.area.add_spare(left);
        }
        let run = Run { start: run.start, count };
        if count > 0 {
            let ticket = self.store.begin_read(first, count).inspect_err(|_| {
                self.leave_far(first..first + u64::from(count));
                self.area.add_spare(run);
            })?;
            let (frames, keep) = (Some(run), kept_from(lead, first, u64::from(count)));
            let flight = Flight { ticket, frames, keep, purpose, walk: None, held: None };
            if purpose.is_hinted() {
                self.flights.leave(flight, self.space.now_ns(), self.most_left());
            } else {
                self.flights.start(flight);
            }
        }
        Ok(Some(u64::from(count).max(1)))
    }

    /// Completes the oldest flight, or follows a piece of advice; false if there is neither. Of threads that
    /// are recorded it lets another one go on, if that is due.
    pub fn work_ahead(&self, w: &mut Worker) -> Result<bool, FarError> {
        // Who holds the pager still may wait for somebody who waits for an order that failed.
        let _inside = loop {
            self.check_moved()?;
            if let Some(inside) = self.try_enter() {
                break inside;
            }
            if !self.space.contended() {
                self.space.rest(HELD_STILL_NS);
            }
        };
        self.pass_turn(w)?;
        match self.flights.take_due(self.space.now_ns()) {
            Some(flight) => self.complete(w, flight).map(|()| true),
            None => self.follow_advice(w),
        }
    }

    /// Completes a flight taken from the list: waits for its data, sends for what that points to, and maps it.
    pub fn complete(&self, w: &mut Worker, flight: Flight) -> Outcome {
        self.complete_entered(w, flight, None)
    }

    /// The same; where the program has come in already, and waits, is looked at as that.
    pub(crate) fn complete_entered(
        &self,
        w: &mut Worker,
        flight: Flight,
        entered: Option<Walk>,
    ) -> Outcome {
        let (first, count) = (flight.ticket.first, u64::from(flight.ticket.count));
        let key = flight.keep.map(|keep| Kept::range(count - keep..count));
        let kept = key.unwrap_or_else(|| self.pages_to_watch(first, count, flight.purpose));
        if let Some(run) = flight.frames {
            // SAFETY: taken frames are out of the program's reach, and these are the flight's.
            let bytes = unsafe { bytes_at(self.area.address(run.start), count as usize * PAGE) };
            if let Err(error) = self.store.finish_read(flight.ticket, bytes) {
                self.area.add_spare(run);
                self.leave_far(first..first + count);
                return Err(error);
            }
            let sent = match entered {
                Some(walk) => self.enter_page(w, walk, (first, bytes)).map(drop),
                None => Ok(()),
            };
            self.land_frames(first, run, flight.purpose, &kept);
            return sent;
        }
        if let (1, Some(walk)) = (count, entered) {
            return self.complete_awaited(w, flight, walk);
        }
        if let Err(error) = self.store.finish_read(flight.ticket, w.bounce(count as usize)) {
            return self.restore_far(first, count, error);
        }
        let arrived = (first, &*w.bounce(count as usize));
        let fetches = match (entered, flight.walk) {
            (Some(walk), _) => self.look_entered(walk, arrived),
            (None, Some(walk)) => self.look_at(walk, arrived),
            (None, None) => Fetches::default(),
        };
        let sent = self.send_for_all(w, &fetches).map(drop);
        self.land(w.bounce(count as usize), first, flight.purpose, &kept);
        sent
    }

    /// Completes a flight of one page for which the program waits.
    fn complete_awaited(&self, w: &mut Worker, flight: Flight, walk: Walk) -> Outcome {
        let page = flight.ticket.first;
        if let Err(error) = self.store.finish_read(flight.ticket, &mut *w.held) {
            return self.restore_far(page, 1, error);
        }
        let followed = self.follow_from(w, walk, page);
        self.land(&*w.held, page, flight.purpose, &Kept::NONE);
        followed
    }
}

/// How many of the last pages of a flight stay unmapped, to learn of the use of the very last.
fn kept_from(lead: Option<PageId>, first: u64, count: u64) -> Option<u64> {
    (lead?.0 + 1 == first + count).then_some(1)
}
