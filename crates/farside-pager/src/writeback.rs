//! Writing back: victims whose frames lie in the frame area, until the far store has what it needs.
//!
//! A page that is being written is *leaving*: whoever faults on it meanwhile gets its frame back
//! instead of a round trip to the far store.

use std::sync::atomic::Ordering::Relaxed;

use farside_far::FarError;
use farside_os::memory::PAGE;
use farside_policy::replacement::Arrival;
use twox_hash::XxHash3_64;

use crate::counters::Counters;
use crate::frames::{Run, bytes_at};
use crate::pager::Pager;
use crate::table::TAG;
use crate::word::{State, Word};

/// A run of victims whose frames lie in the frame area.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Staged {
    pub first: u64,
    pub run: Run,
    /// Flags that all pages of the run share.
    pub word: Word,
}

impl Staged {
    /// `count` pages of it, from page `from` of it on.
    pub(crate) fn part(self, from: u32, count: u32) -> Self {
        let run = Run { start: self.run.start + from, count };
        Self { first: self.first + u64::from(from), run, ..self }
    }

    /// The pages, and the positions of their frames.
    fn pages(self) -> impl Iterator<Item = (u64, u32)> {
        let pages = self.first..self.first + u64::from(self.run.count);
        pages.zip(self.run.start..)
    }
}

impl Pager {
    /// Writes back what is needed of victims in the frame area; their frames become spare. Returns how
    /// many did.
    pub(crate) fn settle(&self, staged: Staged) -> Result<u64, FarError> {
        self.settle_all(&[staged])
    }

    /// As [`settle`](Self::settle), of several runs at once: what has to be written goes in one call.
    pub(crate) fn settle_all(&self, all: &[Staged]) -> Result<u64, FarError> {
        let mut spare = SpareRuns::default();
        let mut leaving = Vec::new();
        let mut count = 0;
        for staged in all {
            count += u64::from(staged.run.count);
            self.sort_out(*staged, &mut leaving, &mut spare)?;
        }
        self.write_back(&leaving, &mut spare)?;
        Counters::add(&self.counters.evicted_pages, count);
        spare.runs.iter().for_each(|run| self.area.add_spare(*run));
        Ok(spare.count)
    }

    /// What of victims must be written is leaving from now on; the rest is dealt with.
    fn sort_out(
        &self,
        staged: Staged,
        leaving: &mut Vec<Staged>,
        spare: &mut SpareRuns,
    ) -> Result<(), FarError> {
        let bytes = self.content_of(staged);
        let mut write_from = None;
        for i in 0..=staged.run.count {
            let fate = bytes.get(i as usize * PAGE..).and_then(|rest| rest.get(..PAGE));
            let fate = fate.map(|page| self.fate(staged.first + u64::from(i), page, staged.word));
            if fate == Some(Fate::Write) {
                write_from.get_or_insert(i);
                continue;
            }
            if let Some(from) = write_from.take() {
                let part = staged.part(from, i - from);
                for (page, position) in part.pages() {
                    let word = Word::new(State::Leaving).with_position(position);
                    self.publish_absent(page, word);
                }
                leaving.push(part);
            }
            if let Some(fate) = fate {
                self.forget(staged.first + u64::from(i), fate)?;
                spare.push(staged.run.start + i);
            }
        }
        Ok(())
    }

    /// The content of victims.
    fn content_of(&self, staged: Staged) -> &[u8] {
        let len = staged.run.count as usize * PAGE;
        // SAFETY: the frames are out of the program's reach and belong to this reclaim, which only reads them.
        unsafe { bytes_at(self.area.address(staged.run.start), len) }
    }

    /// Publishes those of the victims that are zero, and says what is left of them. The last one comes first.
    pub(crate) fn forget_zeros(&self, staged: Staged) -> Result<Vec<Staged>, FarError> {
        let bytes = self.content_of(staged);
        let zero: Vec<bool> = bytes.chunks_exact(PAGE).map(is_zero).collect();
        let (mut at, mut rest) = (0, Vec::new());
        for run in zero.chunk_by(|a, b| a == b) {
            let part = staged.part(at, run.len() as u32);
            at += run.len() as u32;
            if !run[0] {
                rest.push(part);
                continue;
            }
            let fate = if staged.word.stored() { Fate::ZeroStored } else { Fate::Zero };
            for i in 0..part.run.count {
                self.forget(part.first + u64::from(i), fate)?;
            }
            Counters::add(&self.counters.evicted_pages, u64::from(part.run.count));
            self.area.add_spare(part.run);
        }
        rest.reverse();
        Ok(rest)
    }

    /// Ends the leaving of victims that the far store has now, except that it had those of `unchanged`, by bits, already.
    pub(crate) fn note_stored(&self, staged: Staged, unchanged: u32) {
        let mut spare = SpareRuns::default();
        let mut written = 0;
        for i in 0..staged.run.count {
            let page = staged.first + u64::from(i);
            let same = unchanged >> i & 1 == 1;
            if same {
                Counters::add(&self.counters.evicted_clean, 1);
            } else {
                self.table.set_tag(page, NO_TAG);
                written += PAGE as u64;
            }
            if staged.word.stored() {
                self.table.note_written(page, !same);
            }
            if self.finish_leaving(page) {
                spare.push(staged.run.start + i);
            }
        }
        Counters::add(&self.counters.evicted_pages, u64::from(staged.run.count));
        Counters::add(&self.counters.written_bytes, written);
        self.counters.far_pages.store(self.store.held(), Relaxed);
        spare.runs.iter().for_each(|run| self.area.add_spare(*run));
    }

    /// Stores victims that are leaving already.
    pub(crate) fn write_staged(&self, staged: Staged) -> Result<(), FarError> {
        self.store.write(staged.first, self.content_of(staged))?;
        self.note_stored(staged, 0);
        Ok(())
    }

    fn fate(&self, page: u64, content: &[u8], word: Word) -> Fate {
        if word.is_as_stored() {
            return Fate::Clean;
        }
        if is_zero(content) {
            if word.stored() {
                self.table.note_written(page, true);
            }
            return if word.stored() { Fate::ZeroStored } else { Fate::Zero };
        }
        let known = self.table.tag(page);
        let tag = if self.is_compared(page, word) { self.tag_of(content) } else { NO_TAG };
        let compared = word.stored() && tag != NO_TAG && known != NO_TAG;
        if compared && word.exposed() {
            self.changes.compared(page, tag != known);
        }
        if compared && tag == known {
            self.table.note_written(page, false);
            return Fate::Clean;
        }
        self.table.set_tag(page, tag);
        if word.stored() {
            self.table.note_written(page, true);
        }
        Fate::Write
    }

    /// Whether to compare a page that could be written with what is stored of it.
    fn is_compared(&self, page: u64, word: Word) -> bool {
        if word.exposed() {
            self.compares(page)
        } else {
            !(word.writable() && self.writes.comparing_is_vain())
        }
    }

    /// Whether a page that was fetched to be read, and could be written, is compared: what it does is not known, or not
    /// known to be in vain.
    fn compares(&self, page: u64) -> bool {
        self.table.was_written(page) != Some(true) || self.changes.compares(page)
    }

    /// By what a page's content is recognised.
    pub(crate) fn tag_of(&self, content: &[u8]) -> u64 {
        (XxHash3_64::oneshot_with_seed(self.tag_seed, content) & TAG).max(NO_TAG + 1)
    }

    /// Sees to it that those of the pages from `first` on, whose stored content is `bytes`, have tags that will be compared.
    pub(crate) fn tag_stored(&self, first: u64, bytes: &[u8]) {
        for (page, content) in (first..).zip(bytes.chunks_exact(PAGE)) {
            if self.table.tag(page) == NO_TAG && self.compares(page) {
                self.table.set_tag(page, self.tag_of(content));
            }
        }
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

    /// Writes victims that are leaving to the far store.
    fn write_back(&self, leaving: &[Staged], spare: &mut SpareRuns) -> Result<(), FarError> {
        if leaving.is_empty() {
            return Ok(());
        }
        let runs: Vec<(u64, &[u8])> =
            leaving.iter().map(|part| (part.first, self.content_of(*part))).collect();
        // If this fails the pages stay as they are, and the program ends.
        self.store.write_runs(&runs)?;
        let written: usize = runs.iter().map(|(_, bytes)| bytes.len()).sum();
        Counters::add(&self.counters.written_bytes, written as u64);
        self.counters.far_pages.store(self.store.held(), Relaxed);
        for (page, position) in leaving.iter().flat_map(|part| part.pages()) {
            if self.finish_leaving(page) {
                spare.push(position);
            }
        }
        Ok(())
    }

    /// Ends the leaving of a page that the far store has now; false if its frame is mapped again.
    fn finish_leaving(&self, page: u64) -> bool {
        loop {
            let word = self.table.load(page);
            let busy = Word::new(State::Busy).with_waiters();
            if word.state() == State::Busy {
                // Somebody copies the frame.
                self.space.rest(0);
            } else if word.returned() {
                if self.table.exchange(page, word, busy) {
                    let word = Word::new(State::Resident).with_stored();
                    self.publish_resident(page, 1, word, 0, |_| Arrival::Demand);
                    return true;
                }
            } else if word.waiters() {
                if self.table.exchange(page, word, busy) {
                    self.map_left(page, word.position());
                    return false;
                }
            } else if self.table.exchange(page, word, Word::new(State::Far).with_stored()) {
                return true;
            }
        }
    }

    /// Gives the frame of a page that has left to those who wait for it.
    fn map_left(&self, page: u64, position: u32) {
        self.map_frames(page, self.area.address(position), 1);
        self.area.leave_empty(Run { start: position, count: 1 });
        Counters::add(&self.counters.soft_faults, 1);
        let word = Word::new(State::Resident).with_stored().with_writable();
        self.publish_resident(page, 1, word, 0, |_| Arrival::Demand);
    }

    /// Serves a fault on a page that is leaving: with a copy of its frame if another frame is to be had
    /// at once, else with the frame itself after the write. Returns false if the page has left.
    pub(crate) fn fault_on_leaving(&self, page: u64, word: Word, protected: bool) -> bool {
        if word.returned() && !protected {
            Counters::add(&self.counters.spurious_faults, 1);
            self.wake(page, 1);
            return true;
        }
        if word.returned() || self.budget.take(1) == 0 {
            // Another transition may have begun, which somebody has to see to.
            let same = |now: Word| now.without_waiters() == word.without_waiters();
            return self.table.wait_for(page).is_some_and(same);
        }
        if !self.table.exchange(page, word, Word::new(State::Busy)) {
            self.budget.give(1);
            return false;
        }
        // SAFETY: the frame stays where it is, unchanged, while the page is busy.
        let bytes = unsafe { bytes_at(self.area.address(word.position()), PAGE) };
        self.copy_pages(page, bytes, true, true);
        Counters::add(&self.counters.soft_faults, 1);
        // Nothing else may happen to the page until its write has ended.
        self.publish_absent(page, word.with_returned().without_waiters());
        if word.waiters() {
            self.wake(page, 1);
        }
        true
    }
}

/// Positions whose frames are not needed any more.
#[derive(Default)]
struct SpareRuns {
    runs: Vec<Run>,
    count: u64,
}

impl SpareRuns {
    fn push(&mut self, position: u32) {
        self.count += 1;
        match self.runs.last_mut() {
            Some(last) if last.start + last.count == position => last.count += 1,
            _ => self.runs.push(Run { start: position, count: 1 }),
        }
    }
}

/// The tag of a page that was stored without one.
const NO_TAG: u64 = 0;

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
    // Most pages show their first difference early; the rest is worth long pieces, each of which is looked at without a
    // branch, so that the compiler takes whole registers of it.
    let is_nothing = |piece: &[u8]| piece.iter().fold(0, |all, byte| all | byte) == 0;
    is_nothing(&content[..64]) && content.chunks(256).all(is_nothing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_zero_if_all_of_it_is() {
        let mut page = [0; PAGE];
        assert!(is_zero(&page));
        for at in [0, 1, 63, 64, 255, 256, PAGE / 2, PAGE - 1] {
            for byte in [1, 0x80] {
                page[at] = byte;
                assert!(!is_zero(&page), "{byte} at {at}");
            }
            page[at] = 0;
        }
    }
}
