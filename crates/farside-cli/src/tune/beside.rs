//! Whether what was found is faster than paged memory at the end, when both are run in turn.

use farside_tune::{Verdict, compare_in_turn, level};

use super::journal::median;
use super::measure::are_far_above;

/// Runs of the best and of paged memory in turn.
///
/// Runs of paged memory may take minutes. What takes far longer than the best, as it did before anything was tried, is run
/// once more only, and the times of before count with that one. Otherwise times of another moment say little.
#[derive(Clone, Debug)]
pub struct Beside {
    /// Seconds of paged memory: of `before` runs at another moment, and of those since.
    paged: Vec<f64>,
    before: usize,
    /// Seconds of the best.
    best: Vec<f64>,
}

impl Beside {
    /// Paged memory took these seconds before.
    pub fn new(paged: Vec<f64>) -> Self {
        Self { before: paged.len(), paged, best: Vec::new() }
    }

    /// Whether paged memory is to be run in the next round.
    pub fn wants_paged(&self) -> bool {
        !self.is_far()
    }

    /// Paged memory took so many seconds.
    pub fn note_paged(&mut self, seconds: f64) {
        self.paged.push(seconds);
    }

    /// The best took so many seconds, behind paged memory in the same round if that was run.
    pub fn note_best(&mut self, seconds: f64) {
        self.best.push(seconds);
        if !self.is_far() {
            self.paged.drain(..std::mem::take(&mut self.before));
        }
    }

    /// Whether it is known which is faster.
    pub fn is_known(&self) -> bool {
        self.is_far() || self.verdict() != Verdict::Open
    }

    /// Whether the best is faster. If it is not known it counts for nothing, unless there are too few runs to know
    /// anything, however they differ.
    pub fn is_faster(&self) -> bool {
        let has_too_few = self.paged.len() < 3;
        match self.verdict() {
            Verdict::Faster => true,
            Verdict::Slower => false,
            Verdict::Open => {
                self.is_far() || has_too_few && median(&self.best) < median(&self.paged)
            }
        }
    }

    /// The seconds of paged memory, and of the best.
    pub fn into_times(self) -> (Vec<f64>, Vec<f64>) {
        (self.paged, self.best)
    }

    /// It was kept for being faster before this, so that it is to be as unlikely by chance as in one comparison.
    fn verdict(&self) -> Verdict {
        compare_in_turn(&self.paged, &self.best, level(1))
    }

    fn is_far(&self) -> bool {
        are_far_above(&self.paged, &self.best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs rounds until it is known, at least three of them.
    fn rounds(before: &[f64], paged: &[f64], best: &[f64]) -> Beside {
        let mut beside = Beside::new(before.to_vec());
        let mut paged = paged.iter().copied();
        for (round, seconds) in best.iter().enumerate() {
            if beside.wants_paged() {
                beside.note_paged(paged.next().unwrap());
            }
            beside.note_best(*seconds);
            if round >= 2 && beside.is_known() {
                break;
            }
        }
        beside
    }

    #[test]
    fn paged_memory_that_takes_far_longer_is_run_once_more() {
        let beside = rounds(&[80.0], &[70.0], &[9.0, 8.0, 10.0, 9.0]);
        assert!(beside.is_known() && beside.is_faster());
        assert_eq!(beside.into_times(), (vec![80.0, 70.0], vec![9.0, 8.0, 10.0]));
    }

    #[test]
    fn times_of_before_count_for_nothing_if_they_are_not_far_apart() {
        let beside = rounds(&[30.0, 30.0, 30.0], &[10.0, 11.0, 12.0], &[9.0, 8.0, 8.5, 9.0]);
        assert!(beside.is_known() && beside.is_faster());
        assert_eq!(beside.into_times(), (vec![10.0, 11.0, 12.0], vec![9.0, 8.0, 8.5]));
        // Nor if it turns out later.
        let beside = rounds(&[30.0], &[30.0, 10.0, 9.0, 11.0, 10.0], &[9.0, 16.0, 10.0, 9.0, 11.0]);
        assert!(!beside.is_known() && !beside.is_faster());
        assert_eq!(beside.into_times().0, [30.0, 10.0, 9.0, 11.0]);
    }

    #[test]
    fn one_run_of_each_tells_what_it_can() {
        let mut beside = Beside::new(Vec::new());
        beside.note_paged(10.0);
        beside.note_best(9.0);
        assert!(!beside.is_known() && beside.is_faster());
        let mut beside = Beside::new(Vec::new());
        beside.note_paged(9.0);
        beside.note_best(10.0);
        assert!(!beside.is_known() && !beside.is_faster());
    }
}
