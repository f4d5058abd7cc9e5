//! Misses by memory size, while a program runs.

/// Numbers that are kept: as fine as a curve can be drawn.
const COUNTS: usize = 1024;

/// How often the program came to pages that it had come to so many pages before.
///
/// Old counts fade: with each [`age`](Self::age) they count for less.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveCurve {
    /// By distance: the first `width` distances, and so on.
    counts: Vec<f64>,
    width: u64,
    cold: f64,
}

impl LiveCurve {
    /// Nothing so far.
    pub fn new() -> Self {
        Self { counts: vec![0.0; COUNTS], width: 1, cold: 0.0 }
    }

    /// Counts so many uses at a distance, which is at least 1 for a page used just before.
    pub fn add(&mut self, distance: u64, uses: f64) {
        while distance.saturating_sub(1) / self.width >= COUNTS as u64 {
            self.widen();
        }
        self.counts[(distance.saturating_sub(1) / self.width) as usize] += uses;
    }

    /// Counts so many uses of pages that had not been used before, which are missed in every memory.
    pub fn add_cold(&mut self, uses: f64) {
        self.cold += uses;
    }

    #[cold]
    fn widen(&mut self) {
        self.width *= 2;
        let half: Vec<f64> = self.counts.chunks(2).map(|pair| pair.iter().sum()).collect();
        self.counts.fill(0.0);
        self.counts[..half.len()].copy_from_slice(&half);
    }

    /// All counts from now on weigh so much, from 0 to 1.
    pub fn age(&mut self, weight: f64) {
        self.counts.iter_mut().for_each(|count| *count *= weight);
        self.cold *= weight;
    }

    /// Uses that were counted.
    pub fn uses(&self) -> f64 {
        self.cold + self.counts.iter().sum::<f64>()
    }

    /// Uses of pages that had not been used before.
    pub fn cold(&self) -> f64 {
        self.cold
    }

    /// Uses that miss in a memory of so many pages.
    pub fn misses(&self, pages: u64) -> f64 {
        let inside = pages / self.width;
        let Ok(inside) = usize::try_from(inside) else { return self.cold };
        if inside >= COUNTS {
            return self.cold;
        }
        // As if they were spread evenly over the distances that are counted together.
        let part = (pages % self.width) as f64 / self.width as f64;
        let behind: f64 = self.counts[inside..].iter().sum();
        self.cold + behind - part * self.counts[inside]
    }

    /// The greatest distance that may have been counted.
    pub fn greatest(&self) -> u64 {
        let last = self.counts.iter().rposition(|count| *count > 0.0);
        last.map_or(0, |last| (last as u64 + 1) * self.width)
    }
}

impl Default for LiveCurve {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn misses_are_uses_beyond_a_size(
            uses in prop::collection::vec(1..300_000_u64, 1..500),
            size in 0..300_000_u64,
        ) {
            let mut curve = LiveCurve::new();
            curve.add_cold(7.0);
            uses.iter().for_each(|distance| curve.add(*distance, 2.0));
            let width = curve.width;
            let beyond = |size: u64| 7.0 + 2.0 * uses.iter().filter(|it| **it > size).count() as f64;
            let misses = curve.misses(size);
            prop_assert!(beyond(size + width) <= misses && misses <= beyond(size.saturating_sub(width)));
            prop_assert_eq!(curve.misses(0), curve.uses());
            prop_assert_eq!(curve.misses(u64::MAX), 7.0);
            prop_assert!(curve.greatest() >= *uses.iter().max().unwrap());
            curve.age(0.5);
            prop_assert_eq!(curve.misses(size), misses / 2.0);
        }
    }
}
