//! A share of all pages, by which the others are judged.

use multiversion::multiversion;
use multiversion::target::target_cfg_f;

use crate::PageId;

/// Mixes the bits of page numbers, so that any of them decide (the golden ratio, in 64 bits).
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Halvings of the sample after which there is hardly any left.
const MOST_HALVINGS: u32 = 24;

/// The number of a page, mixed up: what decides whether it is in a sample. No two pages have the same.
#[inline(always)]
pub fn page_hash(page: PageId, salt: u64) -> u64 {
    // Pages are numbered densely: all bits of what differs have to decide, or the same numbers come out.
    let hash = (page.0 ^ salt).wrapping_mul(MULTIPLIER);
    // High bits of the product depend on all bits of the page number, but linearly.
    (hash ^ hash >> 32).wrapping_mul(MULTIPLIER)
}

/// Appends to `picked` those of `pages` whose hashes are at most `most`, in order.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+bmi1+bmi2+lzcnt+popcnt"))]
pub fn pick_by_hash(pages: &[PageId], salt: u64, most: u64, picked: &mut Vec<PageId>) {
    if target_cfg_f!(target_feature = "avx512dq") {
        pick_from_groups(pages, salt, most, picked);
    } else {
        pick_singly(pages, salt, most, picked);
    }
}

/// Where many products are made at once: only those that are picked are gone to.
#[inline(always)]
fn pick_from_groups(pages: &[PageId], salt: u64, most: u64, picked: &mut Vec<PageId>) {
    for group in pages.chunks(u64::BITS as usize) {
        let bits = group.iter().enumerate();
        let bits = bits.map(|(place, page)| u64::from(page_hash(*page, salt) <= most) << place);
        let mut few = bits.fold(0, |few, bit| few | bit);
        while few != 0 {
            picked.push(group[few.trailing_zeros() as usize]);
            few &= few - 1;
        }
    }
}

#[inline(always)]
fn pick_singly(pages: &[PageId], salt: u64, most: u64, picked: &mut Vec<PageId>) {
    picked.extend(pages.iter().filter(|page| page_hash(**page, salt) <= most));
}

/// A random share of all pages: those whose number, mixed up, is small (SHARDS; Waldspurger and others, FAST 2015).
///
/// A smaller sample is part of a larger one.
#[derive(Copy, Clone, Debug)]
pub struct PageSample {
    salt: u64,
    halvings: u32,
}

impl PageSample {
    /// All pages; another `salt` makes another sample of the smaller ones.
    pub fn all(salt: u64) -> Self {
        Self { salt, halvings: 0 }
    }

    /// How often it was halved.
    pub fn halvings(self) -> u32 {
        self.halvings
    }

    /// The one that was halved so often.
    pub fn with_halvings(self, halvings: u32) -> Self {
        Self { halvings, ..self }
    }

    /// Whether a page is part of it.
    #[inline]
    pub fn has(self, page: PageId) -> bool {
        self.most_halvings(page) >= self.halvings
    }

    /// How often the sample of all pages can be halved with a page still being part of it.
    #[inline]
    pub fn most_halvings(self, page: PageId) -> u32 {
        page_hash(page, self.salt).leading_zeros()
    }

    /// The share of pages that it has, about.
    pub fn rate(self) -> f64 {
        (-f64::from(self.halvings)).exp2()
    }

    /// Half as many pages; false if there are hardly any left.
    pub fn halve(&mut self) -> bool {
        let can = self.halvings < MOST_HALVINGS;
        self.halvings += u32::from(can);
        can
    }

    /// Twice as many pages; false if it is all of them.
    pub fn double(&mut self) -> bool {
        let can = self.halvings > 0;
        self.halvings -= u32::from(can);
        can
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_shares_and_parts_of_each_other() {
        for salt in [0, 1, u64::MAX] {
            let mut sample = PageSample::all(salt);
            let mut before: Vec<u64> = (0..100_000).collect();
            assert!(!sample.double());
            for halvings in 1..8 {
                assert!(sample.halve());
                let share = 100_000.0 * sample.rate();
                let all = (0..100_000).filter(|page| sample.has(PageId(*page))).count();
                assert!((all as f64 / share - 1.0).abs() < 0.1, "{salt} {halvings}: {all}");
                before.retain(|page| sample.has(PageId(*page)));
                assert_eq!(before.len(), all);
            }
            assert_eq!((0..99).filter(|_| sample.halve()).count(), 17);
            assert_eq!((0..99).filter(|_| sample.double()).count(), 24);
        }
    }

    #[test]
    fn those_with_small_hashes_are_picked_in_order() {
        for (pages, share) in [(0, 1), (1, 1), (63, 2), (64, 3), (65, 1), (5_000, 50)] {
            let pages: Vec<PageId> = (0..pages).map(|page| PageId(page * 7 % 1_000)).collect();
            let most = u64::MAX / share;
            let small = pages.iter().copied().filter(|page| page_hash(*page, 9) <= most);
            let small: Vec<PageId> = std::iter::once(PageId(u64::MAX)).chain(small).collect();
            for pick in [pick_by_hash, pick_from_groups, pick_singly] {
                let mut picked = vec![PageId(u64::MAX)];
                pick(&pages, 9, most, &mut picked);
                assert_eq!(picked, small);
            }
        }
    }
}
