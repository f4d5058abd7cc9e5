//! Words of which the program itself says whether they are pointers (`farside_tag`).
//!
//! Like the tags that a capability machine keeps beside memory, and that its kernel keeps while a page is swapped out
//! (CHERI-picking, section 2), these bits belong to addresses: they stay what they are while pages come and go.

use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use farside_os::memory::{self, PAGE};
use farside_policy::prefetch::Tags;

use crate::pager::Pager;
use crate::table::reserve_words;

/// Bytes of a word.
const WORD: usize = 8;

/// Words of bits for each page.
const WORDS: usize = PAGE / WORD / 64;

/// What an error is about.
const SUBJECT: &str = "what the program says of pointers";

/// A bit for each word of a range of memory, and one for each page.
#[derive(Debug)]
struct Bits {
    words: &'static [AtomicU64],
    pages: &'static [AtomicU64],
}

impl Bits {
    fn new(pages: usize) -> farside_os::Result<Self> {
        let array = |count: usize| reserve_words(count as u64, SUBJECT);
        Ok(Self { words: array(pages * WORDS)?, pages: array(pages.div_ceil(64))? })
    }
}

impl Drop for Bits {
    fn drop(&mut self) {
        for array in [self.words, self.pages] {
            let len = size_of_val(array).next_multiple_of(PAGE);
            // A range that cannot be unmapped stays mapped, and harms nobody.
            let _ = memory::unmap(array.as_ptr() as usize, len, SUBJECT);
        }
    }
}

/// What the program says of the words of far memory. Costs nothing until it says something.
#[derive(Debug)]
pub struct TaggedWords {
    base: usize,
    pages: usize,
    bits: OnceLock<Bits>,
}

impl TaggedWords {
    /// Nothing is said of `pages` pages from an address on.
    pub const fn new(base: usize, pages: u64) -> Self {
        Self { base, pages: pages as usize, bits: OnceLock::new() }
    }

    /// The words that lie in a range as a whole are pointers, or are not. What lies elsewhere is left out.
    ///
    /// # Errors
    /// If there is no room for the bits; nothing is known of the range then.
    pub fn say(&self, address: usize, size: usize, are_pointers: bool) -> farside_os::Result<()> {
        let end = self.base + self.pages * PAGE;
        let from = address.clamp(self.base, end).next_multiple_of(WORD);
        let to = address.saturating_add(size).clamp(self.base, end) / WORD * WORD;
        if from >= to {
            return Ok(());
        }
        let bits = match self.bits.get() {
            Some(bits) => bits,
            None => {
                let made = Bits::new(self.pages)?;
                self.bits.get_or_init(|| made)
            }
        };
        let (first, last) = ((from - self.base) / WORD, (to - self.base) / WORD);
        for page in first / (64 * WORDS)..last.div_ceil(64 * WORDS) {
            bits.pages[page / 64].fetch_or(1 << (page % 64), Relaxed);
        }
        let mut at = first;
        while at < last {
            let count = (64 - at % 64).min(last - at);
            let mask = (u64::MAX >> (64 - count)) << (at % 64);
            if are_pointers {
                bits.words[at / 64].fetch_or(mask, Relaxed);
            } else {
                bits.words[at / 64].fetch_and(!mask, Relaxed);
            }
            at += count;
        }
        Ok(())
    }

    /// What was said of a page holds no longer: its content is gone.
    pub(crate) fn forget(&self, page: u64) {
        self.replace(page, None);
    }

    /// The content of a page is at another one now.
    pub(crate) fn follow(&self, from: u64, to: u64) {
        let Some(bits) = self.bits.get() else { return };
        let is_known = bits.pages[from as usize / 64].load(Relaxed) >> (from % 64) & 1 != 0;
        let words = std::array::from_fn(|i| bits.words[from as usize * WORDS + i].load(Relaxed));
        self.replace(to, is_known.then_some(words));
        self.replace(from, None);
    }

    fn replace(&self, page: u64, words: Option<[u64; WORDS]>) {
        let Some(bits) = self.bits.get() else { return };
        let (known, mask) = (&bits.pages[page as usize / 64], 1 << (page % 64));
        let was_known = known.load(Relaxed) & mask != 0;
        match words {
            None if !was_known => return,
            None => known.fetch_and(!mask, Relaxed),
            Some(_) => known.fetch_or(mask, Relaxed),
        };
        for (i, word) in words.unwrap_or_default().into_iter().enumerate() {
            bits.words[page as usize * WORDS + i].store(word, Relaxed);
        }
    }
}

impl Tags for TaggedWords {
    fn is_pointer(&self, location: u64) -> Option<bool> {
        let bits = self.bits.get()?;
        let at = (location as usize).wrapping_sub(self.base) / WORD;
        let page = at / (64 * WORDS);
        if page >= self.pages || bits.pages[page / 64].load(Relaxed) >> (page % 64) & 1 == 0 {
            return None;
        }
        Some(bits.words[at / 64].load(Relaxed) >> (at % 64) & 1 != 0)
    }
}

impl Pager {
    /// The program says that the words that lie in a range as a whole are pointers, or are not.
    ///
    /// # Errors
    /// If there is no room to keep that.
    pub fn say_pointers(&self, address: usize, size: usize, are: bool) -> farside_os::Result<()> {
        let end = self.base + self.len();
        let (from, to) = (address.clamp(self.base, end), address.saturating_add(size).min(end));
        if from >= to {
            return Ok(());
        }
        // Bits of memory that was never used would only take room.
        let (first, last) = (self.page_of(from), self.page_of(to - 1) + 1);
        self.table.touched_stretches(first, last).try_for_each(|(start, stop)| {
            let (start, stop) = (from.max(self.address(start)), to.min(self.address(stop)));
            self.tagged.say(start, stop - start, are)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: usize = 1 << 30;

    fn said(tagged: &TaggedWords, at: usize) -> Option<bool> {
        tagged.is_pointer((BASE + at) as u64)
    }

    #[test]
    fn whole_words_of_a_range_are_said() {
        let tagged = TaggedWords::new(BASE, 4);
        assert_eq!(said(&tagged, 0), None);
        tagged.say(BASE + PAGE + 4, 100, true).unwrap();
        let words = (0..PAGE).step_by(8).filter(|at| said(&tagged, PAGE + at) == Some(true));
        assert_eq!(words.collect::<Vec<_>>(), (8..104).step_by(8).collect::<Vec<_>>());
        assert_eq!((said(&tagged, 0), said(&tagged, 2 * PAGE)), (None, None));
        tagged.say(BASE, usize::MAX, false).unwrap();
        assert!((0..4 * PAGE).step_by(8).all(|at| said(&tagged, at) == Some(false)));
        assert_eq!((said(&tagged, 4 * PAGE), tagged.is_pointer(0)), (None, None));
    }

    #[test]
    fn what_is_said_moves_with_a_page_and_goes_with_it() {
        let tagged = TaggedWords::new(BASE, 4);
        tagged.say(BASE + 16, 8, true).unwrap();
        tagged.follow(0, 3);
        assert_eq!((said(&tagged, 16), said(&tagged, 3 * PAGE + 16)), (None, Some(true)));
        tagged.follow(1, 3);
        assert_eq!(said(&tagged, 3 * PAGE + 16), None);
        tagged.say(BASE + 16, 8, true).unwrap();
        tagged.forget(0);
        assert_eq!(said(&tagged, 16), None);
        tagged.say(BASE + 24, 8, false).unwrap();
        assert_eq!(said(&tagged, 16), Some(false));
    }

    #[test]
    fn nothing_is_said_of_what_is_no_word_of_far_memory() {
        let tagged = TaggedWords::new(BASE, 4);
        for (address, size) in [(0, 8), (BASE + 1, 8), (BASE, 7), (BASE + 4 * PAGE, 64), (0, BASE)]
        {
            tagged.say(address, size, true).unwrap();
        }
        assert!(tagged.bits.get().is_none());
    }
}
