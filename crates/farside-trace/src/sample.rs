//! A share of all pages, by which the others are judged.

use crate::PageId;

/// Mixes the bits of page numbers, so that any of them decide (the golden ratio, in 64 bits).
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Halvings of the sample after which there is hardly any left.
const MOST_HALVINGS: u32 = 24;

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
        let mixed = (page.0 ^ self.salt).wrapping_mul(MULTIPLIER);
        let mixed = (mixed ^ mixed >> 32).wrapping_mul(MULTIPLIER);
        mixed.leading_zeros()
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
}
