//! How an instruction goes through memory, as its faults show: distances, runs of neighbouring pages, and how soon
//! pages come again.

use std::collections::HashMap;

use super::distinct::Distinct;

/// Most distances that are told apart.
const MOST_STRIDES: usize = 32;

/// Pages that a run may leave out, because they were in memory.
const GAP: i64 = 4;

/// Runs that one instruction goes on with in turn, as one that copies or compares does.
const CURSORS: usize = 4;

/// Longest run that is told apart from longer ones, in pages.
pub const LONGEST: usize = 8;

/// Powers of two of faults between two of a page.
const AGES: usize = 40;

/// Runs of neighbouring pages in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// Faults in runs of so many pages, the last one with all that are longer.
    pub faults: [u64; LONGEST + 1],
    /// Pages of runs that count as the longest, and how many runs these are.
    pub long: (u64, u64),
}

impl Runs {
    fn end(&mut self, faults: u64, pages: u64) {
        let length = (pages as usize).min(LONGEST);
        self.faults[length] += faults;
        if length == LONGEST {
            self.long.0 += pages;
            self.long.1 += 1;
        }
    }

    fn merge(&mut self, other: &Self) {
        self.faults.iter_mut().zip(other.faults).for_each(|(ours, theirs)| *ours += theirs);
        self.long = (self.long.0 + other.long.0, self.long.1 + other.long.1);
    }
}

/// A run that may go on.
#[derive(Clone, Copy, Debug, Default)]
struct Current {
    page: u64,
    faults: u64,
    pages: u64,
    /// Where to, once there are two pages.
    down: bool,
}

impl Current {
    /// Whether a fault so many pages from the last one belongs to the run.
    fn goes_on(&self, distance: i64) -> bool {
        match distance {
            0 => true,
            1..=GAP => self.pages == 1 || !self.down,
            _ => (-GAP..0).contains(&distance) && (self.pages == 1 || self.down),
        }
    }
}

/// What was seen of one instruction.
#[derive(Clone, Debug)]
pub struct Pattern {
    strides: HashMap<i64, u64>,
    total: u64,
    /// Runs that may go on, the one that did so last first.
    current: Vec<Current>,
    up: Runs,
    down: Runs,
    /// Faults on pages that had none before, and then by the power of two of the faults since.
    ages: [u64; AGES + 1],
    pages: Distinct,
}

impl Default for Pattern {
    fn default() -> Self {
        let (up, down) = Default::default();
        Self {
            strides: HashMap::new(),
            total: 0,
            current: Vec::new(),
            up,
            down,
            ages: [0; AGES + 1],
            pages: Distinct::default(),
        }
    }
}

impl Pattern {
    /// Takes note of a fault on a page that had its last one so many faults ago, if it had any.
    pub fn add(&mut self, page: u64, age: Option<u64>) {
        self.pages.add(page);
        self.ages[age.map_or(0, |age| 1 + age.max(1).ilog2() as usize).min(AGES)] += 1;
        let distance = |run: &Current| page.wrapping_sub(run.page) as i64;
        let index = self.current.iter().position(|run| run.goes_on(distance(run)));
        if let Some(run) = self.current.get(index.unwrap_or(0)) {
            self.add_stride(distance(run));
        }
        let mut run = Current { page, faults: 1, pages: 1, down: false };
        match index {
            Some(index) => {
                let before = self.current.remove(index);
                let distance = distance(&before);
                run.down = if distance == 0 { before.down } else { distance < 0 };
                run.faults += before.faults;
                run.pages = before.pages + distance.unsigned_abs();
            }
            None if self.current.len() == CURSORS => {
                self.current.pop().into_iter().for_each(|oldest| self.end_run(oldest));
            }
            None => {}
        }
        self.current.insert(0, run);
    }

    fn add_stride(&mut self, distance: i64) {
        self.total += 1;
        if self.strides.len() < MOST_STRIDES || self.strides.contains_key(&distance) {
            *self.strides.entry(distance).or_default() += 1;
        }
    }

    fn end_run(&mut self, run: Current) {
        let runs = if run.down { &mut self.down } else { &mut self.up };
        runs.end(run.faults, run.pages);
    }

    /// Adds what was seen of another instruction; returns both together.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        let mut other = other.clone();
        for pattern in [&mut self, &mut other] {
            std::mem::take(&mut pattern.current).into_iter().for_each(|run| pattern.end_run(run));
        }
        self.total += other.total;
        for (distance, count) in other.strides {
            *self.strides.entry(distance).or_default() += count;
        }
        self.up.merge(&other.up);
        self.down.merge(&other.down);
        self.pages.merge(&other.pages);
        self.ages.iter_mut().zip(other.ages).for_each(|(ours, theirs)| *ours += theirs);
        self
    }

    /// The most frequent distance in pages from one fault to the next, and its share of all.
    pub fn stride(&self) -> Option<(i64, f64)> {
        let by_count = |&(pages, count): &(&i64, &u64)| (*count, -pages.abs(), *pages);
        let (pages, count) = self.strides.iter().max_by_key(by_count)?;
        Some((*pages, *count as f64 / self.total as f64))
    }

    /// All faults that were seen.
    pub fn faults(&self) -> u64 {
        self.ages.iter().sum()
    }

    /// About how many different pages these were on.
    pub fn pages(&self) -> u64 {
        self.pages.count()
    }

    /// Runs upwards and downwards that have ended.
    pub fn runs(&self) -> (Runs, Runs) {
        (self.up, self.down)
    }

    /// Shares of the faults on pages that had one no more than `faults` before, and of those on pages that had none.
    pub fn again_within(&self, faults: u64) -> (f64, f64) {
        let all = self.ages.iter().sum::<u64>().max(1) as f64;
        let last = faults.max(1).ilog2() as usize;
        let again: u64 = self.ages[1..=last.min(AGES - 1)].iter().sum();
        (again as f64 / all, self.ages[0] as f64 / all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pages: impl IntoIterator<Item = u64>) -> Pattern {
        let mut pattern = Pattern::default();
        pages.into_iter().for_each(|page| pattern.add(page, None));
        Pattern::default().with(&pattern)
    }

    #[test]
    fn a_pass_is_one_long_run() {
        let pattern = of(100..300);
        assert_eq!(pattern.stride(), Some((1, 1.0)));
        assert_eq!((pattern.runs().0.faults[LONGEST], pattern.runs().0.long), (200, (200, 1)));
        let pattern = of((100..300).rev().step_by(2));
        assert_eq!(pattern.stride(), Some((-2, 1.0)));
        assert_eq!(pattern.runs().1.faults[LONGEST], 100);
    }

    #[test]
    fn two_passes_in_turn_are_two_runs() {
        let pattern = of((0..200).flat_map(|i| [1000 + i, 9000 + i]));
        assert_eq!(pattern.runs().0.long, (400, 2));
        assert!(pattern.stride().is_some_and(|(pages, share)| pages == 1 && share > 0.9));
    }

    #[test]
    fn objects_are_short_runs() {
        let pattern = of((0..100).flat_map(|i| [i * 7919, i * 7919 + 1, i * 7919 + 2]));
        assert_eq!(pattern.runs().0.faults[3], 300);
        assert_eq!(pattern.runs().0.long, (0, 0));
    }

    #[test]
    fn scattered_pages_have_no_runs() {
        let pattern = of((0..100).map(|i| i * i * 37));
        assert!(pattern.runs().0.faults[1] > 90, "{pattern:?}");
        assert!(pattern.stride().is_some_and(|(_, share)| share < 0.1));
    }

    #[test]
    fn pages_that_come_again_are_told_from_new_ones() {
        let mut pattern = Pattern::default();
        (0..50).for_each(|page| pattern.add(page, None));
        (0..50).for_each(|page| pattern.add(page, Some(50)));
        (0..100).for_each(|page| pattern.add(page, Some(5000)));
        assert_eq!(pattern.again_within(64), (0.25, 0.25));
        assert_eq!(pattern.again_within(10_000), (0.75, 0.25));
    }
}
