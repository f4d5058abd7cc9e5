//! A small seeded generator: the same seed makes the same run.

use std::cell::Cell;

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", section 4).
pub struct Random(Cell<u64>);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(Cell::new(seed))
    }

    pub fn next(&self) -> u64 {
        self.0.set(self.0.get().wrapping_add(0x9E37_79B9_7F4A_7C15));
        let mut z = self.0.get();
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub fn below(&self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    pub fn between(&self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }

    /// True `n` times in 100.
    pub fn percent(&self, n: u64) -> bool {
        self.below(100) < n
    }
}
