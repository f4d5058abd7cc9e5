//! Carrying out what the replacement policy decides: watching, evicting, writing back.

use std::sync::atomic::Ordering::Relaxed;

use farside_far::FarError;
use farside_os::memory::PAGE;
use farside_policy::replacement::Slot;
use farside_trace::PageId;
use twox_hash::XxHash3_64;

use crate::counters::Counters;
use crate::frames::Run;
use crate::frames::bytes_at;
use crate::pager::{BATCH, Pager, RECLAIM_BATCH, Worker};
use crate::word::{State, Word};

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

/// A run of victims whose frames lie in the frame area.
#[derive(Copy, Clone, Debug)]
struct Staged {
    first: u64,
    run: Run,
    /// Flags that all pages of the run share.
    word: Word,
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
                return Ok(got);
            }
            if self.drop_spare(want - got) > 0 {
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
    fn drop_spare(&self, want: u64) -> u64 {
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
        let batch = want.max(RECLAIM_BATCH.min(self.budget.limit() / 8)).min(BATCH as u64) as usize;
        let Ok(_alone) = self.reclaiming.try_lock() else {
            // Somebody else is at it; what that gains is there for all.
            self.space.rest(0);
            return Ok(0);
        };
        self.choose(&mut w.scratch, batch);
        self.watch_pages(&mut w.scratch);
        self.evict(&mut w.scratch)
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
                let word = self.table.load(page);
                if word.state() == State::Resident
                    && let Some(word) = self.table.claim(page, word, Word::new(State::Busy))
                {
                    policy.remove(word.slot());
                    w.scratch.victims.push(Owned { page, word });
                }
            }
        }
        self.evict(&mut w.scratch).map(drop)
    }

    /// Asks the policy, and takes ownership of the pages it names.
    fn choose(&self, scratch: &mut Scratch, batch: usize) {
        let busy = Word::new(State::Busy);
        let mut policy = self.lock_policy();
        for _ in 0..batch {
            let Some(PageId(page)) = policy.victim() else { break };
            let word = self.table.load(page);
            match self.table.claim(page, word, busy) {
                Some(word) => scratch.victims.push(Owned { page, word }),
                None => debug_assert!(false, "the policy knows page {page}, which is {word:?}"),
            }
        }
        // More than leave, until the policy watches as many as it wants to.
        policy.watch(2 * batch, &mut scratch.watch);
        for (PageId(page), slot) in scratch.watch.drain(..) {
            let word = self.table.load(page);
            if word.state() == State::Resident
                && let Some(word) = self.table.claim(page, word, busy.with_slot(slot))
            {
                scratch.to_watch.push(Owned { page, word });
            }
        }
    }

    /// Unmaps the pages whose next use the policy wants to see; their frames stay.
    fn watch_pages(&self, scratch: &mut Scratch) {
        scratch.to_watch.sort_unstable_by_key(|owned| owned.page);
        let mut at = 0;
        while at < scratch.to_watch.len() {
            let rest = &scratch.to_watch[at..];
            let want = run_length(rest, BATCH, |_| true);
            if want < MOVE_FROM && !self.uses.watch_next() {
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

    /// Evicts the victims; returns the number of frames gained.
    fn evict(&self, scratch: &mut Scratch) -> Result<u64, FarError> {
        scratch.victims.sort_unstable_by_key(|owned| owned.page);
        let mut gained = 0;
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
                _ if is_clean(owned.word) && run_length(rest, MOVE_FROM, is_clean) < MOVE_FROM => {
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
        gained += self.drop_clean(scratch);
        for staged in std::mem::take(&mut scratch.unmapped) {
            gained += self.settle(staged)?;
        }
        Ok(gained)
    }

    fn count_unused(&self, page: u64, word: Word) {
        if word.state() != State::Watched {
            return;
        }
        self.uses.unused();
        if word.prefetched() {
            Counters::add(&self.counters.prefetched_unused, 1);
            self.lock_prefetcher().unused(PageId(page));
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

    /// Writes back what is needed of victims in the frame area; their frames become spare.
    fn settle(&self, staged: Staged) -> Result<u64, FarError> {
        let count = staged.run.count as usize;
        // SAFETY: the frames are out of the program's reach and belong to this reclaim.
        let bytes = unsafe { bytes_at(self.area.address(staged.run.start), count * PAGE) };
        let mut write_from = None;
        for i in 0..=count {
            let fate = (i < count).then(|| {
                self.fate(staged.first + i as u64, &bytes[i * PAGE..(i + 1) * PAGE], staged.word)
            });
            if fate == Some(Fate::Write) {
                write_from.get_or_insert(i);
                continue;
            }
            if let Some(from) = write_from.take() {
                self.write_back(staged, from, i, bytes)?;
            }
            if let Some(fate) = fate {
                self.forget(staged.first + i as u64, fate)?;
            }
        }
        self.area.add_spare(staged.run);
        Counters::add(&self.counters.evicted_pages, count as u64);
        Ok(count as u64)
    }

    fn fate(&self, page: u64, content: &[u8], word: Word) -> Fate {
        if word.stored() && !word.writable() {
            return Fate::Clean;
        }
        if is_zero(content) {
            return if word.stored() { Fate::ZeroStored } else { Fate::Zero };
        }
        let tag = self.tag_of(content);
        if word.stored() && tag == self.table.tag(page) {
            return Fate::Clean;
        }
        self.table.set_tag(page, tag);
        Fate::Write
    }

    /// By what a page's content is recognised.
    pub(crate) fn tag_of(&self, content: &[u8]) -> u64 {
        XxHash3_64::oneshot_with_seed(self.tag_seed, content)
    }

    /// Publishes a victim that needs no write.
    fn forget(&self, page: u64, fate: Fate) -> Result<(), FarError> {
        match fate {
            Fate::Clean => {
                Counters::add(&self.counters.evicted_clean, 1);
                self.publish_absent(page, Word::new(State::Far).with_stored());
            }
            Fate::Zero | Fate::ZeroStored => {
                Counters::add(&self.counters.evicted_zero, 1);
                if fate == Fate::ZeroStored {
                    self.store.discard(page, 1)?;
                }
                self.publish_absent(page, Word::new(State::Zero));
            }
            Fate::Write => debug_assert!(false, "a page to be written is not forgotten"),
        }
        Ok(())
    }

    fn write_back(
        &self,
        staged: Staged,
        from: usize,
        to: usize,
        bytes: &[u8],
    ) -> Result<(), FarError> {
        let first = staged.first + from as u64;
        let bytes = &bytes[from * PAGE..to * PAGE];
        self.store.write(first, bytes)?;
        Counters::add(&self.counters.written_bytes, bytes.len() as u64);
        self.counters.far_pages.store(self.store.held(), Relaxed);
        for page in first..first + (to - from) as u64 {
            self.publish_absent(page, Word::new(State::Far).with_stored());
        }
        Ok(())
    }

    /// Evicts down to the limit after it shrank.
    pub fn shrink_to_limit(&self, w: &mut Worker) -> Result<(), FarError> {
        while self.budget.used() > self.budget.limit() {
            let over = self.budget.used() - self.budget.limit();
            if self.drop_spare(over) == 0 && self.reclaim(w, over)? == 0 {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Whether the far store certainly has the content of a mapped page.
fn is_clean(word: Word) -> bool {
    word.state() == State::Resident && word.stored() && !word.writable()
}

/// Clean victims are dropped, many scattered ones in one call; runs from this length on are moved out
/// instead, which is cheaper still and leaves their frames for the next fetch.
const MOVE_FROM: usize = 8;

/// What becomes of a victim's content.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Fate {
    /// The far store has it.
    Clean,
    /// It is zero and nothing is stored.
    Zero,
    /// It is zero, and what is stored is out of date.
    ZeroStored,
    /// It must be written.
    Write,
}

/// Whether a page holds zeros only.
fn is_zero(content: &[u8]) -> bool {
    // Most pages show their first difference early; the rest is worth wide comparisons.
    content[..64] == [0; 64] && content.chunks_exact(64).all(|chunk| chunk == [0; 64])
}

fn push_staged(list: &mut Vec<Staged>, owned: Owned, run: Run) {
    let same = |a: Word, b: Word| a.stored() == b.stored() && a.writable() == b.writable();
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
