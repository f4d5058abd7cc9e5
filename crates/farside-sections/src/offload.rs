//! Functions that can run where their data is: what has to be stored before, and where they are to run.

use crate::flush::Flushed;
use crate::lines::DIRTY;
use crate::section::{Section, SectionError};

impl Section {
    /// Stores all that was written before, which stays here; false if some of it cannot be because its lines are pinned,
    /// and whoever pinned them may be writing.
    ///
    /// # Errors
    /// As [`address`](Self::address).
    pub fn store_all(&self) -> Result<bool, SectionError> {
        let mut all = true;
        for line in self.unsettled() {
            all &= self.store_line(line)?;
        }
        Ok(all)
    }

    /// Lines of which something was written that may not be stored: here, or on their way out.
    fn unsettled(&self) -> Vec<u32> {
        let inner = self.lock();
        let mut lines: Vec<u32> =
            inner.transit.lines().filter(|line| inner.transit.is_busy(*line)).collect();
        let slots = 0..self.lines.tags.len() as u32;
        let dirty = slots.filter(|slot| self.lines.state(*slot) & DIRTY != 0);
        lines.extend(dirty.map(|slot| self.lines.line(slot)));
        lines
    }

    /// Sees to it that a line is stored, whoever does it; false if it is pinned. Who moves it may fail, and leave it as it was.
    fn store_line(&self, line: u32) -> Result<bool, SectionError> {
        loop {
            let seen = self.seen();
            if !self.lock().transit.is_busy(line) {
                match self.flush_line(line)? {
                    Flushed::Stored => return Ok(true),
                    Flushed::Pinned => return Ok(false),
                    Flushed::Clean if !self.lock().transit.is_busy(line) => {
                        return Ok(true);
                    }
                    Flushed::Clean | Flushed::Moving => {}
                }
            }
            self.wait(seen);
        }
    }

    /// Pages in the far store of all that it may hold, from its first byte on, as runs of first and number.
    pub fn pages(&self) -> Vec<(u64, u64)> {
        let inner = self.lock();
        inner.space.pages(0, inner.space.len())
    }
}

/// Where a function runs.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// In the program.
    Here,
    /// Where its data is.
    There,
}

/// What was seen of a function's calls, and where the next one is to run: where they took less time, with a call on the
/// other side now and then (the cost model of thesis 5.6, with costs that are measured while the program runs).
#[derive(Clone, Debug, Default)]
pub struct Experience {
    here_ns: Option<f64>,
    there_ns: Option<f64>,
    /// Whether it ran there before: the first time more has to be stored, and code has to go there.
    is_warm: bool,
    calls: u64,
    /// When the side that is not chosen is tried again, and how many calls are between two such trials.
    trial_at: u64,
    gap: u64,
    /// Calls in a row that did not come to their end there, and when the next is tried.
    failures: u32,
    retry_at: u64,
}

/// How much a new time counts against those before.
const WEIGHT: f64 = 0.25;
/// Calls before the first trial of the side that was slower, and most between two.
const FIRST_GAP: u64 = 4;
const MOST_GAP: u64 = 1024;
/// What is so much slower is not tried again until the other changes.
const HOPELESS: f64 = 4.0;
/// Most calls that are not tried there after failures.
const MOST_RETRY: u64 = 4096;

impl Experience {
    /// Where the next call is to run.
    pub fn choose(&mut self) -> Side {
        self.calls += 1;
        if self.failures > 0 && self.calls < self.retry_at {
            return Side::Here;
        }
        let (Some(here), Some(there)) = (self.here_ns, self.there_ns) else {
            return if self.there_ns.is_none() { Side::There } else { Side::Here };
        };
        let (better, other) =
            if there <= here { (Side::There, Side::Here) } else { (Side::Here, Side::There) };
        if self.gap == 0 {
            self.gap = FIRST_GAP;
            self.trial_at = self.calls + FIRST_GAP;
        }
        if self.calls < self.trial_at {
            return better;
        }
        self.gap = (self.gap * 2).min(MOST_GAP);
        self.trial_at = self.calls + self.gap;
        if here.max(there) > HOPELESS * here.min(there) { better } else { other }
    }

    /// A call came to its end.
    pub fn note(&mut self, side: Side, ns: u64) {
        if side == Side::There {
            self.failures = 0;
            if !std::mem::replace(&mut self.is_warm, true) {
                return;
            }
        }
        let known = match side {
            Side::Here => &mut self.here_ns,
            Side::There => &mut self.there_ns,
        };
        let ns = ns as f64;
        *known = Some(known.map_or(ns, |before| before + WEIGHT * (ns - before)));
    }

    /// A call did not come to its end there.
    pub fn note_failure(&mut self) {
        self.failures = (self.failures + 1).min(16);
        self.retry_at = self.calls + (8 << self.failures).min(MOST_RETRY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs calls that take so long on each side; returns how many ran there.
    fn run(experience: &mut Experience, calls: u32, here: u64, there: u64) -> u32 {
        let mut count = 0;
        for _ in 0..calls {
            match experience.choose() {
                Side::Here => experience.note(Side::Here, here),
                Side::There => {
                    experience.note(Side::There, there);
                    count += 1;
                }
            }
        }
        count
    }

    #[test]
    fn both_sides_are_tried_and_the_quicker_one_is_kept() {
        assert_eq!(run(&mut Experience::default(), 10, 1000, 100), 9);
        assert_eq!(run(&mut Experience::default(), 10, 100, 1000), 2);
    }

    #[test]
    fn the_slower_side_is_tried_again_and_chosen_when_it_has_become_the_quicker() {
        let mut experience = Experience::default();
        run(&mut experience, 100, 100, 200);
        let there = run(&mut experience, 4000, 100, 10);
        assert!(there > 2000, "{there}");
    }

    #[test]
    fn what_is_hopeless_is_not_tried_again() {
        assert_eq!(run(&mut Experience::default(), 5000, 100, 10_000), 2);
    }

    #[test]
    fn failures_are_tried_ever_more_rarely() {
        let mut experience = Experience::default();
        let mut tried = 0;
        for _ in 0..1000 {
            match experience.choose() {
                Side::Here => experience.note(Side::Here, 100),
                Side::There => {
                    tried += 1;
                    experience.note_failure();
                }
            }
        }
        assert!((3..10).contains(&tried), "{tried}");
    }
}
