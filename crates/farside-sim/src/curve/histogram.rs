//! Stack distances counted, and the curve they make.

/// How many references there were at each stack distance: 1 for a page referenced just before.
///
/// A policy that keeps in a smaller memory a part of what it would keep in a larger one (Mattson, Gecsei,
/// Slutz and Traiger, 1970) misses with `c` pages exactly where the distance is greater than `c`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distances {
    /// By distance less one.
    counts: Vec<u64>,
    cold: u64,
}

impl Distances {
    /// Counts a reference at `distance`, which is at least 1.
    #[inline]
    pub fn add(&mut self, distance: usize) {
        if distance > self.counts.len() {
            self.counts.resize(distance, 0);
        }
        self.counts[distance - 1] += 1;
    }

    /// Counts references to pages of which so many others were referenced since.
    pub(super) fn add_behind(&mut self, behind: &[u32]) {
        let most = behind.iter().max().map_or(0, |most| *most as usize + 1);
        if most > self.counts.len() {
            self.counts.resize(most, 0);
        }
        behind.iter().for_each(|behind| self.counts[*behind as usize] += 1);
    }

    /// Counts the first reference to a page, which misses in every memory.
    #[inline]
    pub fn add_cold(&mut self) {
        self.cold += 1;
    }

    /// First references: the number of different pages.
    pub fn cold(&self) -> u64 {
        self.cold
    }

    /// All references.
    pub fn references(&self) -> u64 {
        self.cold + self.counts.iter().sum::<u64>()
    }

    /// Distances that occur and how often, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let with_distance = self.counts.iter().enumerate().map(|(i, count)| (i + 1, *count));
        with_distance.filter(|(_, count)| *count > 0)
    }

    /// The curve.
    pub fn curve(&self) -> Curve {
        let mut misses = self.references();
        let mut steps = vec![(0, misses)];
        for (distance, count) in self.iter() {
            misses -= count;
            steps.push((distance, misses));
        }
        Curve { references: self.references(), steps }
    }
}

/// Misses by memory size, exact at every size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Curve {
    references: u64,
    /// Sizes in pages at which the number of misses changes, in ascending order from 0, and the misses
    /// from there on.
    steps: Vec<(usize, u64)>,
}

impl Curve {
    /// A curve of which only some sizes are known, in ascending order with the misses there. Between two
    /// sizes it has the misses of the smaller one; where they would rise they stay.
    pub fn at_sizes(references: u64, misses: impl IntoIterator<Item = (usize, u64)>) -> Self {
        let mut steps = vec![(0, references)];
        for (size, misses) in misses {
            let least = steps.last().map_or(references, |(_, least)| *least);
            if size > 0 && misses < least {
                steps.push((size, misses));
            }
        }
        Self { references, steps }
    }

    /// All references.
    pub fn references(&self) -> u64 {
        self.references
    }

    /// Misses with a memory of `pages` pages.
    pub fn misses(&self, pages: usize) -> u64 {
        let behind = self.steps.partition_point(|(size, _)| *size <= pages);
        self.steps[behind - 1].1
    }

    /// Misses as a share of the references; 0 for an empty trace.
    pub fn miss_ratio(&self, pages: usize) -> f64 {
        if self.references == 0 { 0.0 } else { self.misses(pages) as f64 / self.references as f64 }
    }

    /// The sizes at which the number of misses changes, and the misses from there on.
    pub fn steps(&self) -> &[(usize, u64)] {
        &self.steps
    }

    /// The smallest memory with at most `misses` misses, if there is one.
    pub fn smallest_with(&self, misses: u64) -> Option<usize> {
        self.steps.iter().find(|(_, at)| *at <= misses).map(|(size, _)| *size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_falls_at_each_distance() {
        let mut distances = Distances::default();
        (0..3).for_each(|_| distances.add_cold());
        [2, 2, 5].into_iter().for_each(|distance| distances.add(distance));
        let curve = distances.curve();
        let misses = [0, 1, 2, 3, 4, 5, 6].map(|pages| curve.misses(pages));
        assert_eq!(misses, [6, 6, 4, 4, 4, 3, 3]);
        assert_eq!(curve.smallest_with(4), Some(2));
        assert_eq!(curve.smallest_with(2), None);
        assert_eq!(Distances::default().curve().miss_ratio(1), 0.0);
    }

    #[test]
    fn a_curve_known_at_some_sizes_never_rises() {
        let curve = Curve::at_sizes(100, [(0, 90), (2, 80), (5, 85), (9, 10)]);
        assert_eq!(curve.steps(), [(0, 100), (2, 80), (9, 10)]);
        assert_eq!([1, 2, 8, 9].map(|pages| curve.misses(pages)), [100, 80, 80, 10]);
    }
}
