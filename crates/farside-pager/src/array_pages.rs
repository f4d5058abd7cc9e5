//! Pages full of pointers that came lately: where the prefetcher looks for arrays of pointers.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};

use farside_os::memory::PAGE;
use farside_policy::prefetch::ARRAY_PAGES;

/// Bytes of a pointer.
const WORD: usize = size_of::<usize>();

/// What is looked at of a page: so many of its bytes, in its middle.
const LOOKED_AT: Range<usize> = PAGE / 2..PAGE / 2 + 64 * WORD;

/// How many of the words there must be pointers: elements of 64 bytes may have one each.
const FULL: usize = 8;

/// The latest pages full of pointers.
#[derive(Debug)]
pub(crate) struct ArrayPages {
    /// Their numbers, and 1 more; 0 where there is none.
    pages: [AtomicU64; ARRAY_PAGES],
    next: AtomicUsize,
}

impl ArrayPages {
    pub fn new() -> Self {
        Self { pages: [const { AtomicU64::new(0) }; ARRAY_PAGES], next: AtomicUsize::new(0) }
    }

    /// Takes note of those of the pages that come, from `first` on, that are full of pointers into `far`.
    pub fn note(&self, first: u64, bytes: &[u8], far: &Range<usize>) {
        for (page, content) in (first..).zip(bytes.chunks_exact(PAGE)) {
            if is_full(content, far) {
                let at = self.next.fetch_add(1, Relaxed) % ARRAY_PAGES;
                self.pages[at].store(page + 1, Relaxed);
            }
        }
    }

    /// The page before which so many others came.
    pub fn get(&self, age: usize) -> Option<u64> {
        let newest = self.next.load(Relaxed).wrapping_sub(1);
        self.pages[newest.wrapping_sub(age) % ARRAY_PAGES].load(Relaxed).checked_sub(1)
    }
}

fn is_full(content: &[u8], far: &Range<usize>) -> bool {
    let is_pointer = |word: &[u8]| {
        let word = usize::from_ne_bytes(word.try_into().unwrap_or_default());
        word.wrapping_sub(far.start) < far.len()
    };
    content[LOOKED_AT].chunks_exact(WORD).filter(|word| is_pointer(word)).count() >= FULL
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAR: Range<usize> = 0x7000_0000..0x8000_0000;

    fn page(stride: usize, word: usize) -> Vec<u8> {
        let mut bytes = vec![0; PAGE];
        for at in (0..PAGE).step_by(stride) {
            bytes[at..at + WORD].copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    #[test]
    fn only_pages_full_of_pointers_are_remembered_and_the_newest_come_first() {
        let pages = ArrayPages::new();
        assert_eq!(pages.get(0), None);
        pages.note(7, &[page(8, FAR.start + 3), page(64, FAR.end - 1)].concat(), &FAR);
        pages.note(9, &[page(8, FAR.end), page(8, 0), page(128, FAR.start)].concat(), &FAR);
        assert_eq!([0, 1, 2].map(|age| pages.get(age)), [Some(8), Some(7), None]);
        for first in 0..ARRAY_PAGES as u64 {
            pages.note(100 + first, &page(32, FAR.start), &FAR);
        }
        let last = 99 + ARRAY_PAGES as u64;
        assert_eq!([0, ARRAY_PAGES - 1].map(|age| pages.get(age)), [Some(last), Some(100)]);
    }
}
