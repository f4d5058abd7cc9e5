//! How long lines take that are sent for, by which programs tell how far ahead to do so (Mira, section 5.1).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::section::Section;

/// What is expected changes by so much of the difference to what a line took.
const SHARE: u64 = 8;

/// A line that took so many times as long as expected may have been held up by another program.
const HELD_UP: u64 = 4;

/// What is expected then changes by so much of itself: where all lines take as long, they are believed soon.
const SHARE_OF_HELD_UP: u64 = 64;

/// A mean of what lines took lately, in nanoseconds; 0 as long as none came. Threads that note at the same time may
/// forget what the others do.
#[derive(Debug, Default)]
pub struct Latency(AtomicU64);

impl Latency {
    /// A line took so long from when it was sent for until it was here.
    pub fn note(&self, took: u64) {
        self.0.store(next(self.0.load(Relaxed), took.max(1)), Relaxed);
    }

    /// How long one is expected to take.
    pub fn ns(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

fn next(expected: u64, took: u64) -> u64 {
    if expected == 0 {
        took
    } else if took / HELD_UP > expected {
        expected + expected.div_ceil(SHARE_OF_HELD_UP)
    } else if took > expected {
        expected + (took - expected).div_ceil(SHARE)
    } else {
        expected - (expected - took) / SHARE
    }
}

impl Section {
    /// How long a line takes that is sent for, in nanoseconds; 0 as long as nobody has waited for one. Of a copy: as its
    /// section.
    pub fn latency_ns(&self) -> u64 {
        self.original.as_deref().unwrap_or(self).latency.ns()
    }

    /// A line that somebody waited for to the end is here; `asked`: when it was sent for, if anything of it was.
    pub(crate) fn note_arrival(&self, asked: Option<u64>) {
        if let Some(asked) = asked {
            self.latency.note(self.host.now_ns().saturating_sub(asked));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(first: u64, took: impl IntoIterator<Item = u64>) -> u64 {
        let latency = Latency::default();
        latency.note(first);
        took.into_iter().for_each(|took| latency.note(took));
        latency.ns()
    }

    #[test]
    fn a_change_is_followed_within_some_dozen_lines() {
        assert_eq!(Latency::default().ns(), 0);
        assert_eq!(after(6000, []), 6000);
        assert!((5900..6100).contains(&after(15_000, [6000; 40])));
        assert!((14_900..=15_000).contains(&after(6000, [15_000; 40])));
        // Longer than four times as much: as soon as that is no longer so.
        assert!((99_000..=100_000).contains(&after(6000, [100_000; 200])));
    }

    #[test]
    fn one_line_that_was_held_up_changes_little() {
        let held_up = after(6000, [4_000_000]);
        assert!((6000..6100).contains(&held_up));
        let mixed = (0..400).map(|at| if at % 40 == 0 { 4_000_000 } else { 6000 });
        assert!((5900..6200).contains(&after(6000, mixed)));
    }

    #[test]
    fn a_first_line_that_was_held_up_is_forgotten() {
        assert!((5900..6200).contains(&after(4_000_000, [6000; 80])));
    }
}
