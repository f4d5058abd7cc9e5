//! Carrying out what the replacement policy decides: watching and evicting.

use std::sync::MutexGuard;

use farside_far::FarError;
use farside_os::memory::PAGE;
use farside_policy::batches::{self, BATCH, RECLAIM_BATCH, WATCHED_RUN};
use farside_policy::replacement::{ReplacementPolicy, Slot};
use farside_trace::PageId;
use farside_wire::hint_board::Count;

use crate::counters::Counters;
use crate::frames::Run;
use crate::pager::{Pager, Worker};
use crate::word::{State, Word};
use crate::writeback::Staged;

/// A page owned by a reclaim, with the word it had.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Owned {
    pub page: u64,
    pub word: Word,
}

/// Lists that a reclaim fills and empties again.
#[derive(Default)]
pub(crate) struct Scratch {
    watch: Vec<(PageId, Slot)>,
    to_watch: Vec<Owned>,
    victims: Vec<Owned>,
    drops: Vec<(usize, usize)>,
    dropped: Vec<Owned>,
    unmapped: Vec<Staged>,
}

/// Length of the run of consecutive pages at the start of `pages` for which `same` holds.
fn run_length(pages: &[Owned], most: usize, same: impl Fn(Word) -> bool) -> usize {
    let first = pages[0].page;
    pages
        .iter()
        .take(most)
        .enumerate()
        .take_while(|(i, owned)| owned.page == first + *i as u64 && same(owned.word))
        .count()
}

impl Pager {
    /// Takes `want` frames from the budget, evicting as needed; with at least `least` it is content.
    ///
    /// Fails only if the far store does.
    pub(crate) fn acquire(&self, w: &mut Worker, want: u64, least: u64) -> Result<u64, FarError> {
        let mut got = 0;
        let mut fruitless = 0u32;
        loop {
            got += self.budget.take(want - got);
            if got >= want {
                self.note_taken();
                return Ok(got);
            }
            self.finish_moved()?;
            if self.drop_spare(want - got) > 0 {
                continue;
            }
            // What leaves already is enough in most cases.
            if self.finish_oldest()? {
                continue;
            }
            if self.reclaim(w, want - got)? > 0 {
                fruitless = 0;
                continue;
            }
            if got >= least {
                return Ok(got);
            }
            // Frames reserved for what is on its way are freed only when that arrives, and the
            // completer may be waiting until the caller has left.
            if self.complete_oldest(w)? {
                continue;
            }
            // Everything is pinned or in transition: let the owners finish.
            fruitless += 1;
            if fruitless < 64 {
                self.space.rest(0);
            } else {
                self.space.rest(100_000);
            }
        }
    }

    /// Gives at least `want` spare frames back to the kernel and the budget, if there are so many;
    /// returns how many.
    pub(crate) fn drop_spare(&self, want: u64) -> u64 {
        let want = want.max(RECLAIM_BATCH).min(BATCH as u64) as u32;
        let mut runs = Vec::new();
        let mut taken = 0;
        while taken < want
            && let Some(run) = self.area.take_spare(want - taken)
        {
            taken += run.count;
            runs.push(run);
        }
        self.release_frames(&mut runs)
    }

    /// Frees the frames at taken positions and the positions; returns how many.
    pub(crate) fn release_frames(&self, runs: &mut [Run]) -> u64 {
        if runs.is_empty() {
            return 0;
        }
        runs.sort_unstable_by_key(|run| run.start);
        let mut ranges = Vec::new();
        for run in &*runs {
            push_range(&mut ranges, self.area.address(run.start), run.count as usize * PAGE);
        }
        if self.space.drop_pages(&ranges).is_err() {
            runs.iter().for_each(|run| self.area.add_spare(*run));
            return 0;
        }
        runs.iter().for_each(|run| self.area.leave_empty(*run));
        let count = runs.iter().map(|run| u64::from(run.count)).sum();
        self.budget.give(count);
        count
    }

    /// Evicts at least `want` pages if so many can be, in batches; returns how many frames are to be
    /// had now, in the budget or as spare frames.
    pub(crate) fn reclaim(&self, w: &mut Worker, want: u64) -> Result<u64, FarError> {
        let batch = batches::victims(want, self.budget.limit());
        let Ok(_alone) = self.reclaiming.try_lock() else {
            // Somebody else is at it; what that gains is there for all.
            self.space.rest(0);
            return Ok(0);
        };
        if self.follows_tape() {
            self.choose_planned(&mut w.scratch, batch, want);
        } else {
            self.choose(&mut w.scratch, batch);
        }
        let pays = |run| run >= WATCHED_RUN || self.uses.watch_next(self.store.wait_ns());
        self.watch_pages(&mut w.scratch, pays);
        self.evict(w)
    }

    /// Evicts the mapped pages of a stretch no longer than a batch, whatever the policy thinks of them.
    pub(crate) fn evict_stretch(
        &self,
        w: &mut Worker,
        first: u64,
        end: u64,
    ) -> Result<(), FarError> {
        let Ok(_alone) = self.reclaiming.try_lock() else { return Ok(()) };
        {
            let mut policy = self.lock_policy();
            for page in first..end {
                if self.table.load(page).state() == State::Resident
                    && let Some(word) = self.table.claim_to_leave(page, Word::new(State::Busy))
                {
                    policy.remove(word.slot());
                    w.scratch.victims.push(Owned { page, word });
                }
            }
        }
        self.evict(w).map(drop)
    }

    /// Evicts those of `pages`, no more than a batch, that are here, whatever the policy thinks of them.
    pub(crate) fn evict_pages(&self, w: &mut Worker, pages: &[u64]) -> Result<(), FarError> {
        let _alone = self.lock(&self.reclaiming);
        self.claim_victims(pages, &mut *self.lock_policy(), &mut w.scratch.victims);
        self.evict(w).map(drop)
    }

    /// Evicts pages that no plan of a tape has, no more than a batch.
    pub(crate) fn evict_unplanned(&self, w: &mut Worker) -> Result<(), FarError> {
        let _alone = self.lock(&self.reclaiming);
        let most = RECLAIM_BATCH as usize;
        self.choose_unplanned(&mut *self.lock_policy(), most, &mut w.scratch.victims);
        self.evict(w).map(drop)
    }

    /// Takes ownership of those of `pages` that are here.
    fn claim_victims(
        &self,
        pages: &[u64],
        policy: &mut dyn ReplacementPolicy,
        victims: &mut Vec<Owned>,
    ) {
        for &page in pages {
            if let Some(word) = self.table.claim_to_leave(page, Word::new(State::Busy)) {
                policy.remove(word.slot());
                victims.push(Owned { page, word });
            }
        }
    }

    /// Takes ownership of pages that the tape gives up; if there are none, of pages that are not on it; if these are
    /// none either, of no more than are wanted that the policy names: the plan would rather have them here.
    fn choose_planned(&self, scratch: &mut Scratch, batch: usize, want: u64) {
        let planned = self.planned_victims(batch);
        let mut policy = self.lock_policy();
        self.claim_victims(&planned, &mut *policy, &mut scratch.victims);
        if scratch.victims.is_empty() {
            self.choose_unplanned(&mut *policy, batch, &mut scratch.victims);
        }
        if scratch.victims.is_empty() {
            self.ask_policy(&mut *policy, batch.min(want as usize), &mut scratch.victims);
        }
    }

    /// Takes ownership of the pages that the policy names, but for those that are pinned: these it has back when all have
    /// been named, since one that names the latest first would name the same ones for ever.
    pub(crate) fn ask_policy(
        &self,
        policy: &mut dyn ReplacementPolicy,
        batch: usize,
        victims: &mut Vec<Owned>,
    ) {
        let (before, mut pinned) = (victims.len(), Vec::new());
        while victims.len() == before || victims.len() - before + pinned.len() < batch {
            let Some(page) = policy.victim() else { break };
            match self.table.claim_to_leave(page.0, Word::new(State::Busy)) {
                Some(word) => victims.push(Owned { page: page.0, word }),
                None => pinned.push(page),
            }
        }
        for page in pinned {
            let slot = policy.restore(page);
            let known = self.table.update(page.0, State::Resident, |word| word.with_slot(slot));
            debug_assert!(known, "the policy knows page {}, which is not here", page.0);
        }
    }

    /// Asks the policy, and takes ownership of the pages it names.
    fn choose(&self, scratch: &mut Scratch, batch: usize) {
        let busy = Word::new(State::Busy);
        let mut policy = self.lock_policy();
        self.ask_policy(&mut *policy, batch, &mut scratch.victims);
        policy.watch(batches::watched(batch), &mut scratch.watch);
        for (PageId(page), slot) in scratch.watch.drain(..) {
            if self.table.load(page).state() == State::Resident
                && let Some(word) = self.table.claim_to_leave(page, busy.with_slot(slot))
            {
                scratch.to_watch.push(Owned { page, word });
            }
        }
    }

    /// Takes ownership of those of `pages` that are mapped, and unmaps them, to see their next use.
    pub(crate) fn unmap_to_watch(&self, w: &mut Worker, pages: &[u64]) {
        let alone = self.lock(&self.reclaiming);
        self.unmap_alone(w, pages, &alone);
    }

    /// The same, unless somebody evicts just now; says whether it did.
    pub(crate) fn try_unmap_to_watch(&self, w: &mut Worker, pages: &[u64]) -> bool {
        let Ok(alone) = self.reclaiming.try_lock() else { return false };
        self.unmap_alone(w, pages, &alone);
        true
    }

    /// The same for who sees to it that the policy, which knows these pages meanwhile, is not asked for victims.
    fn unmap_alone(&self, w: &mut Worker, pages: &[u64], _alone: &MutexGuard<'_, ()>) {
        {
            let _known = self.lock_policy();
            let mapped = pages.iter().filter_map(|&page| {
                let word = self.table.load(page);
                let busy = Word::new(State::Busy).with_slot(word.slot());
                let is_mapped = word.state() == State::Resident;
                let word = is_mapped.then(|| self.table.claim_to_leave(page, busy));
                word.flatten().map(|word| Owned { page, word })
            });
            w.scratch.to_watch.extend(mapped);
        }
        self.watch_pages(&mut w.scratch, |_| true);
    }

    /// Unmaps the pages whose next use the policy wants to see, if runs of that length are `worth` it; their
    /// frames stay.
    fn watch_pages(&self, scratch: &mut Scratch, worth: impl Fn(usize) -> bool) {
        scratch.to_watch.sort_unstable_by_key(|owned| owned.page);
        let mut at = 0;
        while at < scratch.to_watch.len() {
            let rest = &scratch.to_watch[at..];
            let want = run_length(rest, BATCH, |_| true);
            if !worth(want) {
                for owned in &rest[..want] {
                    self.publish_absent(owned.page, owned.word);
                }
                at += want;
                continue;
            }
            let Some(run) = self.area.take_empty(want as u32) else {
                // No room to watch: the pages stay mapped.
                for owned in rest {
                    self.publish_absent(owned.page, owned.word);
                }
                break;
            };
            let exceptions = self.unmap_frames(rest[0].page, run);
            for i in 0..run.count {
                let owned = rest[i as usize];
                let position = run.start + i;
                if exceptions.refused.contains(&i) {
                    Counters::add(&self.counters.pinned_pages, 1);
                    self.area.leave_empty(Run { start: position, count: 1 });
                    self.publish_absent(owned.page, owned.word.with_writable());
                } else {
                    // Whether a page that was mapped has been used is not known.
                    let word = owned.word.in_state(State::Watched).without_prefetched();
                    let word = word.with_position(position);
                    self.publish_absent(owned.page, word.opened(exceptions.opened.contains(&i)));
                }
            }
            at += run.count as usize;
        }
        scratch.to_watch.clear();
    }

    /// Evicts the victims; returns the number of frames gained at once.
    ///
    /// Who waits for a page that no tape foresaw needs its frames at once, and does not leave them to the node.
    fn evict(&self, w: &mut Worker) -> Result<u64, FarError> {
        let scratch = &mut w.scratch;
        let mover = if w.on_tape { self.mover() } else { None };
        self.unmap(scratch, mover.is_some());
        let mut gained = self.drop_clean(scratch);
        let unmapped = std::mem::take(&mut scratch.unmapped);
        let Some(mover) = mover else { return Ok(gained + self.settle_all(&unmapped)?) };
        for staged in unmapped {
            gained += self.order_out(mover, staged)?;
        }
        Ok(gained)
    }

    /// Takes the victims out of the program's reach, but for those that only have to be dropped; whether the node stores
    /// them `aside`.
    fn unmap(&self, scratch: &mut Scratch, aside: bool) {
        scratch.victims.sort_unstable_by_key(|owned| owned.page);
        let mut at = 0;
        while at < scratch.victims.len() {
            let rest = &scratch.victims[at..];
            let owned = rest[0];
            self.count_unused(owned.page, owned.word);
            at += match owned.word.state() {
                State::Watched => {
                    let run = Run { start: owned.word.position(), count: 1 };
                    push_staged(&mut scratch.unmapped, owned, run);
                    1
                }
                _ if is_clean(owned.word)
                    && (aside || run_length(rest, MOVE_FROM, is_clean) < MOVE_FROM) =>
                {
                    push_range(&mut scratch.drops, self.address(owned.page), PAGE);
                    scratch.dropped.push(owned);
                    1
                }
                _ => {
                    let clean = is_clean(owned.word);
                    let want = run_length(rest, BATCH, |word| {
                        word.state() == State::Resident && is_clean(word) == clean
                    });
                    match self.area.take_empty(want as u32) {
                        Some(run) => self.unmap_victims(
                            &rest[..run.count as usize],
                            run,
                            &mut scratch.unmapped,
                        ),
                        None => {
                            self.keep(owned);
                            1
                        }
                    }
                }
            };
        }
        scratch.victims.clear();
    }

    fn count_unused(&self, page: u64, word: Word) {
        if word.state() != State::Watched {
            return;
        }
        self.uses.unused();
        if word.prefetched() {
            Counters::add(&self.counters.prefetched_unused, 1);
            self.ahead_ended(page, Count::AheadUnused);
            self.lock_prefetcher().unused(PageId(page));
            self.pointer_unused(page);
        }
    }

    /// Puts a victim back that cannot be evicted now.
    fn keep(&self, owned: Owned) {
        Counters::add(&self.counters.pinned_pages, 1);
        let mut policy = self.lock_policy();
        let slot = policy.restore(PageId(owned.page));
        let waiters = self.table.publish(owned.page, owned.word.with_slot(slot).with_writable());
        drop(policy);
        if waiters {
            self.wake(owned.page, 1);
        }
    }

    /// Moves consecutive mapped victims into `run`; returns how many were dealt with.
    fn unmap_victims(&self, victims: &[Owned], run: Run, staged: &mut Vec<Staged>) -> usize {
        let exceptions = self.unmap_frames(victims[0].page, run);
        for (i, owned) in victims.iter().enumerate() {
            let position = Run { start: run.start + i as u32, count: 1 };
            let i = i as u32;
            if exceptions.refused.contains(&i) {
                self.area.leave_empty(position);
                self.keep(*owned);
            } else {
                let word = owned.word.opened(exceptions.opened.contains(&i));
                push_staged(staged, Owned { page: owned.page, word }, position);
            }
        }
        victims.len()
    }

    /// Drops the victims that the far store still has.
    fn drop_clean(&self, scratch: &mut Scratch) -> u64 {
        let count = scratch.dropped.len() as u64;
        let dropped = self.space.drop_pages(&scratch.drops).is_ok();
        for owned in scratch.dropped.drain(..) {
            if dropped {
                self.table.note_written(owned.page, false);
                self.publish_absent(owned.page, Word::new(State::Far).with_stored());
            } else {
                self.keep(owned);
            }
        }
        scratch.drops.clear();
        if !dropped {
            return 0;
        }
        Counters::add(&self.counters.evicted_pages, count);
        Counters::add(&self.counters.evicted_clean, count);
        self.budget.give(count);
        count
    }

    /// Evicts down to the limit after it shrank.
    pub fn shrink_to_limit(&self, w: &mut Worker) -> Result<(), FarError> {
        self.shrink_to(w, self.budget.limit())
    }

    /// Frees so many frames below the limit, or an eighth of it.
    pub(crate) fn keep_free(&self, w: &mut Worker, frames: u64) -> Result<(), FarError> {
        let limit = self.budget.limit();
        self.shrink_to(w, limit - frames.min(limit / 8))
    }

    /// Evicts until no more than `most` frames are in use, if it can.
    fn shrink_to(&self, w: &mut Worker, most: u64) -> Result<(), FarError> {
        while self.budget.used() > most {
            let over = self.budget.used() - most;
            if self.drop_spare(over) == 0
                && self.reclaim(w, over)? == 0
                && !self.complete_oldest(w)?
            {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Whether the far store certainly has the content of a mapped page.
fn is_clean(word: Word) -> bool {
    word.state() == State::Resident && word.is_as_stored()
}

/// Clean victims are dropped, many scattered ones in one call; runs from this length on are moved out
/// instead, which is cheaper still and leaves their frames for the next fetch.
const MOVE_FROM: usize = 8;

fn push_staged(list: &mut Vec<Staged>, owned: Owned, run: Run) {
    let flags = |word: Word| (word.stored(), word.writable(), word.exposed());
    let same = |a: Word, b: Word| flags(a) == flags(b);
    if let Some(last) = list.last_mut()
        && last.first + u64::from(last.run.count) == owned.page
        && last.run.start + last.run.count == run.start
        && same(last.word, owned.word)
    {
        last.run.count += run.count;
        return;
    }
    list.push(Staged { first: owned.page, run, word: owned.word });
}

fn push_range(list: &mut Vec<(usize, usize)>, addr: usize, more: usize) {
    if let Some((start, len)) = list.last_mut()
        && *start + *len == addr
    {
        *len += more;
        return;
    }
    list.push((addr, more));
}
