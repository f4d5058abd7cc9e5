//! How many different pages there are among many, within a few hundredths, in little memory (Wegman's adaptive
//! sampling, as Flajolet describes it).

use std::collections::HashSet;

/// Most pages that are kept.
const MOST: usize = 1024;

/// A sample of the pages that were seen: those whose hash ends with so many zeros.
#[derive(Clone, Debug, Default)]
pub struct Distinct {
    zeros: u32,
    hashes: HashSet<u64>,
}

impl Distinct {
    /// Takes note of a page.
    pub fn add(&mut self, page: u64) {
        self.keep(mixed(page));
    }

    /// Takes note of what another one has seen.
    pub fn merge(&mut self, other: &Self) {
        self.zeros = self.zeros.max(other.zeros);
        let zeros = self.zeros;
        self.hashes.retain(|hash| hash.trailing_zeros() >= zeros);
        other.hashes.iter().for_each(|hash| self.keep(*hash));
    }

    /// About how many different pages there were.
    pub fn count(&self) -> u64 {
        (self.hashes.len() as u64) << self.zeros
    }

    fn keep(&mut self, hash: u64) {
        if hash.trailing_zeros() < self.zeros {
            return;
        }
        self.hashes.insert(hash);
        while self.hashes.len() > MOST {
            self.zeros += 1;
            let zeros = self.zeros;
            self.hashes.retain(|hash| hash.trailing_zeros() >= zeros);
        }
    }
}

/// A number whose last bits depend on all bits of the page's.
fn mixed(page: u64) -> u64 {
    let x = (page ^ page >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (x ^ x >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9).rotate_right(32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pages: impl IntoIterator<Item = u64>) -> Distinct {
        let mut distinct = Distinct::default();
        pages.into_iter().for_each(|page| distinct.add(page));
        distinct
    }

    #[test]
    fn few_pages_are_counted_exactly() {
        assert_eq!(of((0..5000).map(|i| i % 1000)).count(), 1000);
        assert_eq!(of([]).count(), 0);
    }

    #[test]
    fn many_pages_are_counted_nearly() {
        for pages in [10_000, 1_000_000u64] {
            let count = of((0..pages).map(|i| 0x7d4a_b880 + i)).count();
            assert!(count.abs_diff(pages) < pages / 8, "{count} of {pages}");
        }
    }

    #[test]
    fn what_two_have_seen_is_counted_once() {
        let mut both = of(0..20_000);
        both.merge(&of(10_000..30_000));
        assert!(both.count().abs_diff(30_000) < 4_000, "{}", both.count());
        let mut none = Distinct::default();
        none.merge(&both);
        assert_eq!(none.count(), both.count());
    }
}
