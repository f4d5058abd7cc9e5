//! Finds the slot of a page.

use farside_trace::PageId;

use super::Slot;

/// An unused bucket: zero, since memory that was never written is that, and costs nothing.
const EMPTY: u64 = 0;

/// Neighbouring pages that look for their buckets side by side: as many as there are in a line of a processor's cache.
const TOGETHER: u64 = 8;

/// Fewest buckets.
const LEAST: usize = 16;

/// Spreads groups of neighbouring pages over the table (the golden ratio, in 64 bits).
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Slots by page, for pages that have slots.
///
/// A table with open addressing and linear probing, at most half full: each bucket is one word with a
/// slot and half of the page's hash, so that a page is mostly found, or found missing, by one look at
/// memory. What is deleted leaves no mark. Nothing is allocated within what was reserved; what is reserved is not
/// written, so that memory is taken line by line, where pages are added.
#[derive(Clone, Debug)]
pub struct PageIndex {
    /// A power of two of them: hash above, slot below, and all bits inverted, so that none with a slot is [`EMPTY`]: no
    /// slot has all of them.
    buckets: Vec<u64>,
    len: usize,
}

impl PageIndex {
    /// An empty index.
    pub fn new() -> Self {
        Self { buckets: vec![EMPTY; LEAST], len: 0 }
    }

    /// Makes room for `pages` pages.
    pub fn reserve(&mut self, pages: usize) {
        let buckets = (2 * pages).next_power_of_two().clamp(LEAST, 1 << 32);
        if buckets > self.buckets.len() {
            self.grow(buckets);
        }
    }

    /// Number of pages.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// The bucket with which the search for a page begins, and what its bucket bears.
    #[inline]
    fn home(&self, page: PageId) -> (usize, u64) {
        let (group, within) = (page.0 / TOGETHER, page.0 % TOGETHER);
        let line = group.wrapping_mul(MULTIPLIER) >> 32 & !(TOGETHER - 1);
        let hash = (line | within) << 32;
        (self.home_of(hash), hash)
    }

    /// The first bits of the hash choose a line, and the last ones the bucket in it.
    #[inline]
    fn home_of(&self, hash: u64) -> usize {
        let line = hash >> 32 >> (32 - (self.buckets.len() / TOGETHER as usize).ilog2());
        (line * TOGETHER + (hash >> 32) % TOGETHER) as usize
    }

    /// Adds `page`, which is at `slot` and not in the index.
    pub fn insert(&mut self, page: PageId, slot: Slot) {
        if 2 * (self.len + 1) > self.buckets.len() {
            self.grow(2 * self.buckets.len());
        }
        let (home, hash) = self.home(page);
        self.put(home, !(hash | u64::from(slot.0)));
        self.len += 1;
    }

    /// The slot of `page`, if it is there; `page_at` tells which page a slot has.
    #[inline]
    pub fn find(&self, page: PageId, page_at: impl Fn(Slot) -> Option<PageId>) -> Option<Slot> {
        self.position(page, |slot| page_at(slot) == Some(page)).map(|(_, slot)| slot)
    }

    /// Takes `page` out, and tells where it is; `page_at` tells which page a slot has.
    pub fn remove(
        &mut self,
        page: PageId,
        page_at: impl Fn(Slot) -> Option<PageId>,
    ) -> Option<Slot> {
        self.remove_if(page, |slot| page_at(slot) == Some(page))
    }

    /// Takes `page`, which is or was at `slot`, out.
    pub fn remove_slot(&mut self, page: PageId, slot: Slot) {
        self.remove_if(page, |other| other == slot);
    }

    #[inline]
    fn remove_if(&mut self, page: PageId, is_it: impl Fn(Slot) -> bool) -> Option<Slot> {
        let (at, slot) = self.position(page, is_it)?;
        self.vacate(at);
        self.len -= 1;
        Some(slot)
    }

    /// The bucket that has `page`, and the slot in it.
    #[inline]
    fn position(&self, page: PageId, is_it: impl Fn(Slot) -> bool) -> Option<(usize, Slot)> {
        let mask = self.buckets.len() - 1;
        let (mut at, hash) = self.home(page);
        loop {
            let bucket = self.buckets[at];
            if bucket == EMPTY {
                return None;
            }
            let slot = Slot(!bucket as u32);
            if !bucket & !u64::from(u32::MAX) == hash && is_it(slot) {
                return Some((at, slot));
            }
            at = (at + 1) & mask;
        }
    }

    fn put(&mut self, home: usize, bucket: u64) {
        let mask = self.buckets.len() - 1;
        let mut at = home;
        while self.buckets[at] != EMPTY {
            at = (at + 1) & mask;
        }
        self.buckets[at] = bucket;
    }

    /// Empties a bucket, and moves up those behind it that would not be found any more.
    fn vacate(&mut self, at: usize) {
        let mask = self.buckets.len() - 1;
        let (mut hole, mut next) = (at, at);
        loop {
            next = (next + 1) & mask;
            let bucket = self.buckets[next];
            if bucket == EMPTY {
                break;
            }
            let from_home = next.wrapping_sub(self.home_of(!bucket)) & mask;
            let from_hole = next.wrapping_sub(hole) & mask;
            if from_home >= from_hole {
                self.buckets[hole] = bucket;
                hole = next;
            }
        }
        self.buckets[hole] = EMPTY;
    }

    #[cold]
    fn grow(&mut self, buckets: usize) {
        let old = std::mem::replace(&mut self.buckets, vec![EMPTY; buckets]);
        for bucket in old.into_iter().filter(|bucket| *bucket != EMPTY) {
            self.put(self.home_of(!bucket), bucket);
        }
    }
}

impl Default for PageIndex {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;
    use crate::replacement::list::SlotPages;

    proptest! {
        /// Few pages, and such that many have a bucket in common.
        #[test]
        fn what_was_added_is_found_until_it_is_taken_out(
            operations in prop::collection::vec((any::<bool>(), 0..48_u64), 0..400),
        ) {
            let (mut index, mut pages) = (PageIndex::new(), SlotPages::new());
            let mut expected = HashMap::new();
            for (add, number) in operations {
                let page = PageId((number << 58) | (number % 3));
                if add && !expected.contains_key(&page) {
                    let slot = pages.insert(page);
                    index.insert(page, slot);
                    expected.insert(page, slot);
                } else if !add {
                    let found = index.remove(page, |slot| pages.get(slot));
                    prop_assert_eq!(found, expected.remove(&page));
                    found.map(|slot| pages.release(slot));
                }
                prop_assert_eq!(index.len(), expected.len());
            }
        }
    }
}
