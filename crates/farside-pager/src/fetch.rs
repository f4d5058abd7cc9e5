//! Fetching: the demanded page, and what comes with it.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use farside_far::{FarError, Ticket};
use farside_os::memory::PAGE;
use farside_policy::batches::BATCH;
use farside_policy::forecast::WriteForecast;
use farside_policy::prefetch::{FaultKind, PrefetchPlan};
use farside_policy::replacement::{Arrival, ReplacementPolicy};
use farside_trace::PageId;
use farside_wire::fault_log::Answer;
use farside_wire::hint_board::Count;

use crate::counters::Counters;
use crate::frames::Run;
use crate::frames::bytes_at;
use crate::kept::Kept;
use crate::pager::{Outcome, Pager, Worker};
use crate::purpose::Purpose;
use crate::word::{State, Word};

/// Runs shorter than this are copied in rather than moved: a single copy maps its page write-protected
/// in the same step.
pub(crate) const MOVE_FROM: u64 = 4;

/// Every so many prefetched runs keep one page unmapped, to learn whether it is used.
const SAMPLE_EVERY: u64 = 8;

impl Pager {
    /// Serves a demand fault on `page`, which the caller owns.
    pub(crate) fn demand(&self, w: &mut Worker, page: u64) -> Outcome {
        let started = self.space.now_ns();
        Counters::add(&self.counters.demand_faults, 1);
        w.answer = Some(Answer::Demand);
        if w.on_tape {
            let outcome = self.fetch_and_follow(w, page);
            self.counters.record_fault_ns(self.space.now_ns() - started);
            return outcome;
        }
        let plan = if self.is_recorded() {
            PrefetchPlan::new()
        } else {
            self.foresee_from(page, FaultKind::Demand)
        };
        let follows = plan.runs().next().is_some_and(|run| run.first.0 == page + 1);
        let outcome = if plan.is_empty() {
            self.fetch_single(w, page)
        } else if !self.store.is_instant() {
            self.fetch_ahead(w, page, &plan)
        } else if follows {
            self.fetch_with_run(w, page, &plan)
        } else {
            self.fetch_single(w, page).and_then(|()| self.start_foreseen(w, &plan))
        };
        self.counters.record_fault_ns(self.space.now_ns() - started);
        outcome
    }

    /// Sends for the demanded page first, then for what the tape says if the program is too fast for it.
    fn fetch_and_follow(&self, w: &mut Worker, page: u64) -> Outcome {
        match self.store.begin_read(page, 1) {
            Ok(ticket) => {
                let followed = self.catch_up(w);
                self.fetch_ticket_after(followed, w, page, ticket)
            }
            Err(error) => self.leave_demanded(page, error),
        }
    }

    /// Sends for the demanded page first, then for what is foreseen, and waits for the first alone.
    fn fetch_ahead(&self, w: &mut Worker, page: u64, plan: &PrefetchPlan) -> Outcome {
        match self.store.begin_read(page, 1) {
            Ok(ticket) => {
                let started = self.start_foreseen(w, plan);
                self.fetch_ticket_after(started, w, page, ticket)
            }
            Err(error) => self.leave_demanded(page, error),
        }
    }

    fn fetch_single(&self, w: &mut Worker, page: u64) -> Outcome {
        match self.store.begin_read(page, 1) {
            Ok(ticket) => self.fetch_ticket(w, page, ticket),
            Err(error) => self.leave_demanded(page, error),
        }
    }

    /// Gives up a demanded page, since the program has to end.
    fn leave_demanded(&self, page: u64, error: FarError) -> Outcome {
        self.publish_absent(page, Word::new(State::Far).with_stored());
        Err(error)
    }

    /// Brings in one demanded page after what was to be sent for with it. If that failed, so that the program has to
    /// end, there may never be a frame: what could not be evicted is in transition for good.
    fn fetch_ticket_after(
        &self,
        sent: Outcome,
        w: &mut Worker,
        page: u64,
        ticket: Ticket,
    ) -> Outcome {
        match sent {
            Ok(()) => self.fetch_ticket(w, page, ticket),
            Err(error) => self.leave_demanded(page, error),
        }
    }

    /// Brings in one demanded page.
    fn fetch_ticket(&self, w: &mut Worker, page: u64, ticket: Ticket) -> Outcome {
        // Making room first lets the eviction overlap with the transfer.
        if let Err(error) = self.acquire(w, 1, 1) {
            return self.leave_demanded(page, error);
        }
        if let Err(error) = self.store.finish_read(ticket, &mut *w.held) {
            return self.restore_far(page, 1, error);
        }
        Counters::add(&self.counters.fetched_bytes, PAGE as u64);
        self.note_array_pages(page, &*w.held);
        let followed = self.came(w, FaultKind::Demand).and_then(|walk| match walk {
            Some(walk) => self.follow_from(w, walk, page),
            None => Ok(()),
        });
        let word = self.copy_single(page, &*w.held, true);
        self.publish_resident(page, 1, word, 0, |_| Arrival::Demand);
        followed
    }

    /// Takes ownership of far pages from `first` on, at most `most`, as long as they lie side by side.
    pub(crate) fn claim_far(&self, first: u64, most: u64, busy: Word) -> u64 {
        let most = most.min(self.table.pages().saturating_sub(first));
        let mut count = 0;
        while count < most {
            let word = self.table.load(first + count);
            if word.state() != State::Far || self.table.claim(first + count, word, busy).is_none() {
                break;
            }
            count += 1;
        }
        count
    }

    /// Brings in a demanded page and the run behind it in one batch, and then what else is foreseen.
    fn fetch_with_run(&self, w: &mut Worker, page: u64, plan: &PrefetchPlan) -> Outcome {
        let foreseen = plan.runs().next().map_or(0, |run| run.count);
        let most = foreseen.min(BATCH as u64 - 1).min(self.most_foreseen());
        let count = 1 + self.claim_far(page + 1, most, Word::new(State::Busy));
        self.fetch_run(w, page, count, Purpose::page(page))?;
        // Pages that are here already divide a run; what lies behind them comes too.
        self.start_foreseen(w, plan)?;
        self.enter_resident(w, FaultKind::Demand)
    }

    /// Brings in owned pages at once.
    pub(crate) fn fetch_run(
        &self,
        w: &mut Worker,
        first: u64,
        count: u64,
        purpose: Purpose,
    ) -> Outcome {
        let mut at = 0;
        while at < count {
            let got = match self.fetch_part(w, first + at, count - at, purpose) {
                Ok(got) => got,
                Err(error) => {
                    self.leave_far(first + at..first + count);
                    return Err(error);
                }
            };
            if got == 0 {
                // No room for pages that nobody waits for.
                self.leave_far(first + at..first + count);
                break;
            }
            at += got;
        }
        Ok(())
    }

    /// Brings in some of the owned pages from `first` on; returns how many.
    fn fetch_part(
        &self,
        w: &mut Worker,
        first: u64,
        most: u64,
        purpose: Purpose,
    ) -> Result<u64, FarError> {
        if most < MOVE_FROM {
            let least = u64::from(purpose.holds(first));
            let got = self.acquire(w, most, least)?;
            return self.copy_run(w, first, got, purpose).map(|()| got);
        }
        match self.spare_frames(w, most)? {
            Some(run) => {
                self.move_run(w, first, run, purpose)?;
                Ok(u64::from(run.count))
            }
            None => {
                let least = u64::from(purpose.holds(first));
                let got = self.acquire(w, most, least)?;
                self.copy_run(w, first, got, purpose).map(|()| got)
            }
        }
    }

    /// Takes spare frames that lie side by side, so many or fewer; evicts if there are too few. `None` if there are frames in
    /// the budget instead.
    pub(crate) fn spare_frames(&self, w: &mut Worker, want: u64) -> Result<Option<Run>, FarError> {
        let mut spare = self.area.take_spare(want as u32);
        let got = spare.map_or(0, |run| u64::from(run.count));
        if got < want && self.budget_is_short(want) {
            let is_scattered = got + self.area.spare_count() >= want;
            if is_scattered && got >= MOVE_FROM {
                self.note_spare_taken();
                return Ok(spare);
            }
            if let Some(run) = spare.take() {
                self.area.add_spare(run);
            }
            // If more were evicted, what is scattered would only grow, and be lost to the program.
            if is_scattered && self.drop_spare(want) > 0 {
                return Ok(None);
            }
            self.reclaim(w, want)?;
            spare = self.area.take_spare(want as u32);
        }
        self.note_spare_taken();
        Ok(spare)
    }

    pub(crate) fn budget_is_short(&self, want: u64) -> bool {
        self.budget.limit().saturating_sub(self.budget.used()) < want
    }

    /// How many of the next `count` fetched pages are mapped write-protected.
    fn protect_next(&self, count: u64, purpose: Purpose) -> u64 {
        if purpose.for_writing() { 0 } else { self.writes.protect_next(count) }
    }

    pub(crate) fn count_fetched(&self, count: u64, purpose: Purpose, first: u64) {
        Counters::add(&self.counters.fetched_bytes, count * PAGE as u64);
        let range = purpose.among(first, count);
        let own = range.end - range.start;
        Counters::add(&self.counters.prefetched_pages, count - own);
        if purpose.is_hinted() {
            Counters::add(&self.counters.hinted_pages, own);
            self.count_hint(purpose.place(), Count::Brought, own);
        }
        let ahead = (first..first + count).filter(|page| !range.contains(&(page - first)));
        self.own_ahead(purpose.place(), ahead);
    }

    /// Brings in owned pages by copying; frames for them are taken from the budget already.
    fn copy_run(&self, w: &mut Worker, first: u64, count: u64, purpose: Purpose) -> Outcome {
        if count == 0 {
            return Ok(());
        }
        let read = self.store.begin_read(first, count as u32);
        if let Err(error) =
            read.and_then(|ticket| self.store.finish_read(ticket, w.bounce(count as usize)))
        {
            self.budget.give(count);
            return Err(error);
        }
        let kept = self.pages_to_watch(first, count, purpose);
        self.land(w.bounce(count as usize), first, purpose, &kept);
        Ok(())
    }

    /// Ends the fetch of owned pages whose content has arrived in local memory; those of `kept`, counted from the
    /// first, stay unmapped.
    pub(crate) fn land(&self, bytes: &[u8], first: u64, purpose: Purpose, kept: &Kept) {
        let count = (bytes.len() / PAGE) as u64;
        self.count_fetched(count, purpose, first);
        self.note_array_pages(first, bytes);
        for (part, stays) in kept.parts(count) {
            let unmapped = if stays {
                part.clone().take_while(|i| self.keep_unmapped(bytes, first, *i)).count() as u64
            } else {
                0
            };
            let part = part.start + unmapped..part.end;
            let bytes = &bytes[part.start as usize * PAGE..part.end as usize * PAGE];
            if !bytes.is_empty() {
                self.land_mapped(bytes, first + part.start, purpose);
            }
        }
    }

    /// Maps owned pages whose content has arrived in local memory.
    fn land_mapped(&self, bytes: &[u8], first: u64, purpose: Purpose) {
        let count = (bytes.len() / PAGE) as u64;
        if count == 1 && !purpose.for_writing() {
            let word = self.copy_single(first, bytes, purpose.is_slept_for(first, 1));
            let arrival = |page| purpose.arrival(page);
            return self.publish_resident(first, 1, word, purpose.priority(), arrival);
        }
        let protected = self.protect_next(count, purpose);
        let (protect, open) = bytes.split_at(protected as usize * PAGE);
        let wake = purpose.is_slept_for(first, count);
        self.copy_pages(first, protect, true, wake);
        self.copy_pages(first + protected, open, false, wake);
        self.publish_fetched(first, protected, count, purpose);
    }

    /// Maps a copy of an owned page that comes by itself; returns the word that it has then.
    ///
    /// If it can be written, it is compared when it leaves: it may be one of many that are only read beside others that are
    /// written.
    fn copy_single(&self, page: u64, content: &[u8], wake: bool) -> Word {
        let protect = self.protects(page);
        if !protect {
            self.tag_stored(page, content);
        }
        self.copy_pages(page, content, protect, wake);
        let word = Word::new(State::Resident).with_stored();
        if protect { word } else { word.with_writable().with_exposed() }
    }

    /// Whether a page that comes by itself is to be write-protected.
    pub(crate) fn protects(&self, page: u64) -> bool {
        self.forecast_of(page).protect_next(1) > 0
    }

    /// What foresees whether a page is written.
    pub(crate) fn forecast_of(&self, page: u64) -> &WriteForecast {
        if self.table.was_only_read(page) { &self.writes_where_read } else { &self.writes }
    }

    /// Puts one fetched page into the frame area instead of the region; false if there is no room.
    fn keep_unmapped(&self, bytes: &[u8], first: u64, index: u64) -> bool {
        let Some(place) = self.area.take_empty(1) else { return false };
        let at = index as usize * PAGE;
        let there = self.area.address(place.start);
        if self.space.copy_in(there, &bytes[at..at + PAGE], false, false).is_err() {
            self.area.leave_empty(place);
            return false;
        }
        self.publish_watched(first + index, place.start);
        true
    }

    /// Brings in as many owned pages as `run` has spare frames, by moving these in.
    fn move_run(&self, _w: &mut Worker, first: u64, run: Run, purpose: Purpose) -> Outcome {
        let count = u64::from(run.count);
        let src = self.area.address(run.start);
        // SAFETY: spare frames are out of the program's reach, and these are ours.
        let bytes = unsafe { bytes_at(src, count as usize * PAGE) };
        let read = self.store.begin_read(first, run.count);
        let read = read.and_then(|ticket| self.store.finish_read(ticket, bytes));
        if let Err(error) = read {
            self.area.add_spare(run);
            return Err(error);
        }
        let kept = self.pages_to_watch(first, count, purpose);
        self.land_frames(first, run, purpose, &kept);
        Ok(())
    }

    /// Ends the fetch of owned pages whose content has arrived in frames; those of `kept`, counted from the first,
    /// stay unmapped.
    pub(crate) fn land_frames(&self, first: u64, run: Run, purpose: Purpose, kept: &Kept) {
        let count = u64::from(run.count);
        self.count_fetched(count, purpose, first);
        // What the program is to use first.
        for (part, _) in kept.parts(count).filter(|(_, stays)| !stays) {
            let start = run.start + part.start as u32;
            let frames = Run { start, count: (part.end - part.start) as u32 };
            self.land_mapped_frames(first + part.start, frames, purpose);
        }
        for i in kept.parts(count).filter(|(_, stays)| *stays).flat_map(|(part, _)| part) {
            self.publish_watched(first + i, run.start + i as u32);
        }
    }

    /// Maps the frames in which the content of owned pages has arrived.
    fn land_mapped_frames(&self, first: u64, run: Run, purpose: Purpose) {
        let (count, src) = (u64::from(run.count), self.area.address(run.start));
        // SAFETY: these frames are out of the program's reach, and ours.
        let bytes = unsafe { bytes_at(src, count as usize * PAGE) };
        self.note_array_pages(first, bytes);
        // To protect them now would be in vain: see `Word::exposed`. They are compared when they leave.
        let exposed = !purpose.for_writing();
        if exposed {
            self.tag_stored(first, bytes);
        }
        self.map_frames(first, src, count);
        self.area.leave_empty(run);
        let word = Word::new(State::Resident).with_stored().with_writable();
        let word = if exposed { word.with_exposed() } else { word };
        self.publish_resident(first, count, word, purpose.priority(), |page| purpose.arrival(page));
        if purpose.is_slept_for(first, count) {
            self.wake(first, count);
        }
    }

    /// Ends the transition of `count` mapped pages, of which the first `protected` are write-protected.
    pub(crate) fn publish_fetched(&self, first: u64, protected: u64, count: u64, purpose: Purpose) {
        let word = Word::new(State::Resident).with_stored();
        let (priority, arrival) = (purpose.priority(), |page| purpose.arrival(page));
        self.publish_resident(first, protected, word, priority, arrival);
        let open = word.with_writable();
        self.publish_resident(first + protected, count - protected, open, priority, arrival);
    }

    /// Which pages of a fetched run, counted from the first, stay unmapped, to learn whether they are used: a sample, and
    /// those that are tracked, but not those that somebody waits for.
    ///
    /// The place of a sample is left to chance: a program that uses one page in eight may always use the last one
    /// of a run.
    pub(crate) fn pages_to_watch(&self, first: u64, count: u64, purpose: Purpose) -> Kept {
        let mut kept = Kept::range(self.pages_to_sample(first, count, purpose));
        self.keep_tracked(first, count, purpose, &mut kept);
        kept
    }

    fn pages_to_sample(&self, first: u64, count: u64, purpose: Purpose) -> Range<u64> {
        const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
        let own = purpose.among(first, count);
        let all = if own.start == 0 { own.end..count } else { 0..own.start };
        if self.exact_prefetch_count {
            return all;
        }
        let runs = self.runs.fetch_add(1, Relaxed);
        if all.is_empty() || !runs.is_multiple_of(SAMPLE_EVERY) {
            return count..count;
        }
        let sample = all.start + (runs.wrapping_mul(ODD) >> 32) % (all.end - all.start);
        sample..sample + 1
    }

    /// Ends the transition of a prefetched page whose frame stays in the frame area.
    pub(crate) fn publish_watched(&self, page: u64, position: u32) {
        let mut policy = self.lock_policy();
        let slot = policy.insert(PageId(page), Arrival::Prefetch);
        let word = Word::new(State::Watched)
            .with_stored()
            .with_prefetched()
            .with_slot(slot)
            .with_position(position);
        let waiters = self.table.publish(page, word);
        drop(policy);
        if waiters {
            self.wake(page, 1);
        }
    }
}
