//! Spare frames, by the lengths of the runs that they lie in.

use super::frames::Run;

/// Runs of up to so many frames are kept by length; longer ones are together with the longest of these.
const LENGTHS: usize = 64;

const NONE: Run = Run { start: 0, count: 0 };

/// Runs of spare frames. To find one takes the same time however many there are.
pub struct SpareRuns {
    /// What was added last, which grows as long as what is added lies beside it.
    newest: Run,
    /// The others, by length, the latest at the end.
    by_length: [Vec<Run>; LENGTHS],
    /// One bit for each length of which there are runs.
    lengths: u64,
    count: u64,
}

impl SpareRuns {
    /// None.
    pub fn new() -> Self {
        Self { newest: NONE, by_length: std::array::from_fn(|_| Vec::new()), lengths: 0, count: 0 }
    }

    /// How many frames there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// All runs, in no order.
    pub fn runs(&self) -> impl Iterator<Item = Run> {
        let newest = (self.newest.count > 0).then_some(self.newest);
        self.by_length.iter().flatten().copied().chain(newest)
    }

    /// Adds some.
    pub fn add(&mut self, run: Run) {
        self.count += u64::from(run.count);
        if self.newest.start + self.newest.count == run.start {
            self.newest.count += run.count;
        } else if run.start + run.count == self.newest.start {
            // Most often the rest of what was taken too much of it.
            self.newest.start = run.start;
            self.newest.count += run.count;
        } else {
            let before = std::mem::replace(&mut self.newest, run);
            self.keep(before);
        }
    }

    /// Takes up to `want` frames that lie side by side; `None` if there are none.
    ///
    /// What was added last is the most likely to be in the caches, and is taken if it is long enough; else the shortest run
    /// that is; else the longest one.
    pub fn take(&mut self, want: u32) -> Option<Run> {
        let mut run = self.find(want)?;
        let taken = Run { start: run.start, count: want.min(run.count) };
        run.start += taken.count;
        run.count -= taken.count;
        self.count -= u64::from(taken.count);
        if self.newest.count == 0 {
            self.newest = run;
        } else {
            self.keep(run);
        }
        Some(taken)
    }

    /// Takes a whole run out.
    fn find(&mut self, want: u32) -> Option<Run> {
        let long_enough = self.lengths & (u64::MAX << index(want));
        let length = match long_enough {
            0 => self.lengths.checked_ilog2().unwrap_or(0),
            lengths => lengths.trailing_zeros(),
        } as usize;
        let is_longest = long_enough == 0 && self.newest.count as usize > length;
        if self.newest.count >= want || is_longest {
            return Some(std::mem::replace(&mut self.newest, NONE));
        }
        let run = self.by_length[length].pop();
        if self.by_length[length].is_empty() {
            self.lengths &= !(1 << length);
        }
        run
    }

    fn keep(&mut self, run: Run) {
        if run.count > 0 {
            let length = index(run.count);
            self.by_length[length].push(run);
            self.lengths |= 1 << length;
        }
    }
}

/// Where runs of so many frames are kept.
fn index(count: u32) -> usize {
    (count.max(1) as usize).min(LENGTHS) - 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn run(start: u32, count: u32) -> Run {
        Run { start, count }
    }

    #[test]
    fn what_was_added_last_is_taken_first_if_it_is_long_enough() {
        let mut spare = SpareRuns::new();
        spare.add(run(0, 4));
        spare.add(run(10, 16));
        spare.add(run(30, 5));
        spare.add(run(40, 2));
        assert_eq!(spare.take(2), Some(run(40, 2)));
        assert_eq!(spare.take(3), Some(run(0, 3)), "the shortest that is long enough");
        assert_eq!(spare.take(20), Some(run(10, 16)), "else the longest");
        assert_eq!(spare.take(6), Some(run(30, 5)));
        assert_eq!((spare.take(6), spare.take(6), spare.count()), (Some(run(3, 1)), None, 0));
    }

    #[test]
    fn a_frame_by_itself_is_better_than_none() {
        let mut spare = SpareRuns::new();
        [0, 2, 4].into_iter().for_each(|start| spare.add(run(start, 1)));
        let all: Vec<_> = std::iter::from_fn(|| spare.take(16)).collect();
        assert_eq!(all.len(), 3);
    }

    #[test]
    fn runs_that_follow_one_another_are_one() {
        let mut spare = SpareRuns::new();
        spare.add(run(0, 60));
        spare.add(run(60, 60));
        spare.add(run(200, 100));
        assert_eq!(spare.take(120), Some(run(0, 120)));
        assert_eq!(spare.take(120), Some(run(200, 100)));
    }

    #[test]
    fn what_was_taken_too_much_is_one_with_the_rest_again() {
        let mut spare = SpareRuns::new();
        spare.add(run(10, 64));
        assert_eq!(spare.take(16), Some(run(10, 16)));
        spare.add(run(12, 14));
        assert_eq!(spare.take(62), Some(run(12, 62)));
    }

    proptest! {
        /// Each frame is handed out once, in one piece of the run that it is in, of which none is longer than asked for.
        #[test]
        fn frames_are_handed_out_once(steps in proptest::collection::vec((1_u32..150, 1_u32..100), 1..200)) {
            let mut spare = SpareRuns::new();
            let (mut next, mut here) = (0, std::collections::BTreeSet::new());
            for (index, (added, wanted)) in steps.into_iter().enumerate() {
                if index % 3 < 2 {
                    spare.add(run(next, added));
                    here.extend(next..next + added);
                    next += added + added % 2;
                    continue;
                }
                let longest = spare.runs().map(|run| run.count).max().unwrap_or(0);
                let taken = spare.take(wanted).map_or(0..0, |run| run.start..run.start + run.count);
                prop_assert!(taken.len() <= wanted as usize);
                prop_assert!(taken.len() >= wanted.min(longest).min(LENGTHS as u32) as usize);
                prop_assert!(taken.into_iter().all(|frame| here.remove(&frame)));
            }
            let mut left: Vec<u32> = spare.runs().flat_map(|run| run.start..run.start + run.count).collect();
            left.sort_unstable();
            prop_assert_eq!(left.len() as u64, spare.count());
            prop_assert!(left.into_iter().eq(here));
        }
    }
}
