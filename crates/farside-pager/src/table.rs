//! The page table: one word per page of the far region, and the tag of what the far store holds.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use farside_os::memory::{self, reserve};
use farside_os::{OsError, Result};

use crate::word::{State, Word};

/// The bits of a page's tag.
pub const TAG: u64 = u64::MAX >> 3;

/// Besides the tag: whether the page has been fetched and evicted again, and whether it was written meanwhile.
///
/// `SEEN` and `WRITTEN`: it was written. `WRITTEN`: it was not, but the time before. `SEEN`: it was not these two times, or
/// has come but once.
const SEEN: u64 = 1 << 63;
const WRITTEN: u64 = 1 << 62;

/// Whether the tape says that the page is written, for as long as it is here.
const TO_WRITE: u64 = 1 << 61;

/// Words and tags of all pages of the region.
///
/// Both arrays are reserved in full and cost memory only where pages were touched.
pub struct PageTable {
    pages: u64,
    words: &'static [AtomicU64],
    tags: &'static [AtomicU64],
    /// What the program is shown of each page; see [`Word::shown`].
    shown: &'static [AtomicU8],
    /// One byte per [`BLOCK`] pages, of the flags below, so that untouched stretches cost nothing.
    blocks: &'static [AtomicU8],
}

impl Drop for PageTable {
    fn drop(&mut self) {
        let arrays = [
            (self.words.as_ptr() as usize, self.words.len() * 8),
            (self.tags.as_ptr() as usize, self.tags.len() * 8),
            (self.shown.as_ptr() as usize, self.shown.len()),
            (self.blocks.as_ptr() as usize, self.blocks.len()),
        ];
        for (addr, len) in arrays {
            // A range that cannot be unmapped stays mapped, and harms nobody.
            let _ = memory::unmap(addr, len.next_multiple_of(memory::PAGE), "the page table");
        }
    }
}

/// Pages in a block.
pub const BLOCK: u64 = 512;

/// Some page of the block may be in another state than untouched.
pub const BLOCK_TOUCHED: u8 = 1;

/// Some page of the block may have another protection than read-write.
pub const BLOCK_PROTECTED: u8 = 2;

/// `count` zeroed words that cost memory only where they are written; unmapped by who reserved them.
pub(crate) fn reserve_words(count: u64, subject: &'static str) -> Result<&'static [AtomicU64]> {
    let len = usize::try_from(count)
        .ok()
        .and_then(|count| count.checked_mul(8))
        .ok_or(OsError { call: "mmap", subject, errno: libc::ENOMEM })?;
    let addr = reserve(len.next_multiple_of(4096), 4096, subject)?;
    // SAFETY: a fresh zeroed mapping of that length, unmapped only with its owner.
    Ok(unsafe { std::slice::from_raw_parts(addr as *const AtomicU64, count as usize) })
}

fn reserve_bytes(count: u64, subject: &'static str) -> Result<&'static [AtomicU8]> {
    let len = (count as usize).next_multiple_of(4096);
    let addr = reserve(len, 4096, subject)?;
    // SAFETY: a fresh zeroed mapping of at least that length, unmapped only with the table.
    Ok(unsafe { std::slice::from_raw_parts(addr as *const AtomicU8, count as usize) })
}

impl PageTable {
    /// A table for `pages` untouched pages.
    pub fn new(pages: u64) -> Result<Self> {
        Ok(Self {
            pages,
            words: reserve_words(pages, "the page table")?,
            tags: reserve_words(pages, "the tags of far pages")?,
            shown: reserve_bytes(pages, "what hints look at")?,
            blocks: reserve_bytes(pages.div_ceil(BLOCK), "the block table")?,
        })
    }

    /// Sets flags of the blocks that hold the pages from `first` to before `end`.
    pub fn mark_blocks(&self, first: u64, end: u64, flag: u8) {
        for block in first / BLOCK..end.div_ceil(BLOCK) {
            let byte = &self.blocks[block as usize];
            if byte.load(Ordering::Relaxed) & flag == 0 {
                byte.fetch_or(flag, Ordering::AcqRel);
            }
        }
    }

    /// Clears flags of the blocks that lie entirely between `first` and `end`.
    pub fn clear_whole_blocks(&self, first: u64, end: u64, flag: u8) {
        for block in first.div_ceil(BLOCK)..end / BLOCK {
            self.blocks[block as usize].fetch_and(!flag, Ordering::AcqRel);
        }
    }

    /// Whether any block that holds pages from `first` to before `end` has `flag`.
    pub fn any_block(&self, first: u64, end: u64, flag: u8) -> bool {
        (first / BLOCK..end.div_ceil(BLOCK))
            .any(|block| self.blocks[block as usize].load(Ordering::Acquire) & flag != 0)
    }

    /// The stretches between `first` and `end` in which pages may have been touched.
    pub fn touched_stretches(&self, first: u64, end: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut at = first;
        std::iter::from_fn(move || {
            while at < end && !self.any_block(at, at + 1, BLOCK_TOUCHED) {
                at = (at / BLOCK + 1) * BLOCK;
            }
            if at >= end {
                return None;
            }
            let start = at;
            at = end.min((at / BLOCK + 1) * BLOCK);
            Some((start, at))
        })
    }

    /// Number of pages.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Where what the program is shown lies, a byte for each page.
    pub fn shown(&self) -> *const u8 {
        self.shown.as_ptr().cast()
    }

    /// Has the processor load what is known of `page`.
    pub fn expect(&self, page: u64) {
        memory::prefetch(&self.words[page as usize]);
    }

    /// The word of `page`.
    #[inline]
    pub fn load(&self, page: u64) -> Word {
        Word(self.words[page as usize].load(Ordering::Acquire))
    }

    /// Replaces the word of `page` if it is still `current`.
    #[inline]
    pub fn exchange(&self, page: u64, current: Word, new: Word) -> bool {
        let exchanged = self.words[page as usize]
            .compare_exchange(current.0, new.0, Ordering::AcqRel, Ordering::Acquire)
            .is_ok();
        if exchanged && current.shown() != new.shown() {
            if new.state() == State::Busy {
                // Whoever owns a page shows it, and nobody else at the same time.
                self.shown[page as usize].store(0, Ordering::Relaxed);
            } else {
                self.show(page, new);
            }
        }
        exchanged
    }

    /// Shows what a page's word says, by who does not own the page: it may be claimed, and shown by its owner, at
    /// any time.
    #[cold]
    fn show(&self, page: u64, mut word: Word) {
        loop {
            // The word is looked at after that.
            self.shown[page as usize].swap(word.shown(), Ordering::SeqCst);
            let now = self.load(page);
            if now.shown() == word.shown() {
                return;
            }
            word = now;
        }
    }

    /// Takes ownership of `page` if it is still in the state of `current`; returns the word it had.
    ///
    /// Flags that others may set meanwhile do not get in the way.
    pub fn claim(&self, page: u64, mut current: Word, busy: Word) -> Option<Word> {
        let state = current.state();
        debug_assert!(state != State::Busy && busy.state() == State::Busy);
        while current.state() == state {
            if self.exchange(page, current, busy) {
                return Some(current);
            }
            current = self.load(page);
        }
        None
    }

    /// Takes ownership of `page`, to evict it or to see its next use, if it is resident and not pinned, or watched;
    /// returns the word it had.
    pub fn claim_to_leave(&self, page: u64, busy: Word) -> Option<Word> {
        loop {
            let word = self.load(page);
            if !word.may_leave() && word.state() != State::Watched {
                return None;
            }
            if self.exchange(page, word, busy) {
                return Some(word);
            }
        }
    }

    /// Ends a transition by its owner: the page is now as `new` says. Returns whether somebody waits.
    #[inline]
    pub fn publish(&self, page: u64, new: Word) -> bool {
        debug_assert!(new.state() != State::Busy);
        let (byte, shown) = (&self.shown[page as usize], new.shown());
        if shown != 0 {
            byte.store(shown, Ordering::Relaxed);
        }
        let old = Word(self.words[page as usize].swap(new.0, Ordering::SeqCst));
        // Who changed the page's flags just before it was claimed may have shown that since.
        if byte.load(Ordering::Relaxed) != shown {
            self.show(page, new);
        }
        debug_assert!(old.state() == State::Busy, "page {page} published without ownership");
        if old.marked() {
            self.mark(page, true);
        }
        old.waiters()
    }

    /// Marks a page that is resident or in flight, or takes its mark away; see `Word::marked`. Tells whether that
    /// changed anything.
    pub fn mark(&self, page: u64, marked: bool) -> bool {
        loop {
            let word = self.load(page);
            let fits = word.state() == State::Resident
                || (word.state() == State::Busy && word.in_flight());
            if !fits || word.marked() == marked {
                return false;
            }
            let changed = if marked { word.with_mark() } else { word.without_mark() };
            if self.exchange(page, word, changed) {
                return true;
            }
        }
    }

    /// Pins a page once more; false if it is not resident.
    pub fn pin(&self, page: u64) -> bool {
        self.update(page, State::Resident, |word| word.with_pins(word.pins() + 1))
    }

    /// Pins a page once less, if it is resident and pinned.
    pub fn unpin(&self, page: u64) {
        self.update(page, State::Resident, |word| word.with_pins(word.pins().saturating_sub(1)));
    }

    /// Says that somebody waits for the transition of `page`, and returns which one it is, which need not be the one that
    /// was seen before; `None` if it has ended.
    pub fn wait_for(&self, page: u64) -> Option<Word> {
        loop {
            let word = self.load(page);
            if !matches!(word.state(), State::Busy | State::Leaving) {
                return None;
            }
            if word.waiters() || self.exchange(page, word, word.with_waiters()) {
                return Some(word);
            }
        }
    }

    /// Changes flags of a page in `state` without taking ownership; false if it left that state.
    pub fn update(&self, page: u64, state: State, change: impl Fn(Word) -> Word) -> bool {
        loop {
            let word = self.load(page);
            if word.state() != state {
                return false;
            }
            if self.exchange(page, word, change(word)) {
                return true;
            }
        }
    }

    /// The tag that [`set_tag`](Self::set_tag) recorded.
    pub fn tag(&self, page: u64) -> u64 {
        self.tags[page as usize].load(Ordering::Relaxed) & TAG
    }

    /// Records the tag of the content that the far store holds, of which only the lower 61 bits are kept.
    pub fn set_tag(&self, page: u64, tag: u64) {
        let kept = self.tags[page as usize].load(Ordering::Relaxed) & !TAG;
        self.tags[page as usize].store(kept | (tag & TAG), Ordering::Relaxed);
    }

    /// Whether the page was written between its last fetch and its last eviction of which the tape did not know, if that
    /// is known.
    pub fn was_written(&self, page: u64) -> Option<bool> {
        let word = self.tags[page as usize].load(Ordering::Relaxed);
        match word & (SEEN | WRITTEN) {
            0 => None,
            seen => Some(seen == SEEN | WRITTEN),
        }
    }

    /// Whether the page was only read the last times that it was here.
    pub fn was_only_read(&self, page: u64) -> bool {
        self.tags[page as usize].load(Ordering::Relaxed) & (SEEN | WRITTEN) == SEEN
    }

    /// Whether the tape says that the page, which is here or on its way, is written.
    pub fn is_to_write(&self, page: u64) -> bool {
        self.tags[page as usize].load(Ordering::Relaxed) & TO_WRITE != 0
    }

    /// Notes that a page comes which, as the tape says, is written or not. The caller owns the page.
    pub fn set_to_write(&self, page: u64, to_write: bool) {
        let word = self.tags[page as usize].load(Ordering::Relaxed);
        let to_write = if to_write { TO_WRITE } else { 0 };
        if word & TO_WRITE != to_write {
            self.tags[page as usize].store(word ^ TO_WRITE, Ordering::Relaxed);
        }
    }

    /// Notes whether a page that leaves was written since it was fetched, unless the tape knew that. The caller owns the
    /// page.
    pub fn note_written(&self, page: u64, written: bool) {
        if self.is_to_write(page) {
            // The next time it may come without the tape.
            return self.set_to_write(page, false);
        }
        let word = self.tags[page as usize].load(Ordering::Relaxed);
        let seen = match (written, word & (SEEN | WRITTEN)) {
            (true, _) => SEEN | WRITTEN,
            (false, before) if before == SEEN | WRITTEN => WRITTEN,
            (false, _) => SEEN,
        };
        self.tags[page as usize].store(word & !(SEEN | WRITTEN) | seen, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// Lets two threads go at nearly the same time, again and again.
    fn meet(arrived: &AtomicUsize, round: usize) {
        arrived.fetch_add(1, Ordering::SeqCst);
        while arrived.load(Ordering::SeqCst) < 2 * round {
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_a_page_did_is_noted_unless_the_tape_said_so() {
        let table = PageTable::new(1).expect("room for a table");
        table.set_tag(0, u64::MAX);
        table.set_to_write(0, true);
        table.note_written(0, true);
        assert_eq!((table.was_written(0), table.is_to_write(0)), (None, false));
        table.note_written(0, false);
        table.set_to_write(0, true);
        assert!(table.is_to_write(0));
        table.note_written(0, true);
        assert_eq!(table.was_written(0), Some(false));
        table.note_written(0, true);
        assert_eq!((table.was_written(0), table.tag(0)), (Some(true), TAG));
    }

    #[test]
    fn a_page_counts_as_only_read_when_it_was_not_written_twice() {
        let table = PageTable::new(1).expect("room for a table");
        let after = |written| {
            table.note_written(0, written);
            (table.was_written(0), table.was_only_read(0))
        };
        assert_eq!(after(false), (Some(false), true));
        assert_eq!(after(true), (Some(true), false));
        assert_eq!([after(false), after(false)], [(Some(false), false), (Some(false), true)]);
        assert_eq!([after(true), after(false), after(true)].map(|seen| seen.1), [false; 3]);
    }

    #[test]
    fn who_waits_learns_for_what() {
        let table = PageTable::new(1).expect("room for a table");
        assert_eq!(table.wait_for(0), None);
        let busy = Word::new(State::Busy);
        table.claim(0, table.load(0), busy).expect("nobody has it");
        assert_eq!(table.wait_for(0), Some(busy));
        // It leaves now, and later comes: who waits has to see to that.
        let leaving = Word::new(State::Leaving).with_position(3);
        assert!(table.publish(0, leaving));
        assert_eq!(table.wait_for(0), Some(leaving));
        assert!(table.exchange(0, leaving.with_waiters(), Word::new(State::Far)));
        let coming = busy.with_flight();
        table.claim(0, Word::new(State::Far), coming).expect("nobody has it");
        assert_eq!(table.wait_for(0), Some(coming));
        assert!(table.publish(0, Word::new(State::Resident)));
        assert_eq!(table.wait_for(0), None);
    }

    #[test]
    fn what_is_shown_is_what_the_word_says_whoever_changed_it_last() {
        const ROUNDS: usize = 100_000;
        let table = &PageTable::new(1).expect("room for a table");
        let here = Word::new(State::Resident);
        let arrived = &AtomicUsize::new(0);
        let own = |after: Word| {
            if table.claim(0, table.load(0), Word::new(State::Busy)).is_some() {
                table.publish(0, after);
            }
        };
        let owner = || {
            for round in 1..=ROUNDS {
                meet(arrived, 2 * round - 1);
                own(Word::new(State::Far));
                own(if round % 2 == 0 { here } else { here.with_writable() });
                meet(arrived, 2 * round);
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(owner);
            // Another one, who changes the page's flags and does not own it.
            for round in 1..=ROUNDS {
                meet(arrived, 2 * round - 1);
                match round % 4 {
                    0 => table.update(0, State::Resident, Word::with_writable),
                    1 => table.update(0, State::Resident, Word::without_writable),
                    other => table.mark(0, other == 2),
                };
                // Until it goes on, nobody else changes anything.
                while arrived.load(Ordering::SeqCst) < 4 * round - 1 {
                    std::thread::yield_now();
                }
                let (shown, word) = (table.shown[0].load(Ordering::SeqCst), table.load(0));
                assert_eq!(shown, word.shown(), "round {round}: {word:?}");
                meet(arrived, 2 * round);
            }
        });
    }
}
