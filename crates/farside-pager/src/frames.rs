//! Local frames: how many there may be, and the area in which unmapped ones are kept.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use farside_os::memory::PAGE;

use crate::counters::Counters;
use crate::spare::SpareRuns;

/// The bytes of present pages.
///
/// # Safety
/// All pages of the range must be present, writable, and out of reach of everybody else while the
/// slice lives: in the frame area, or in a worker's own memory.
pub unsafe fn bytes_at<'a>(addr: usize, len: usize) -> &'a mut [u8] {
    // SAFETY: the caller vouches for presence and exclusiveness.
    unsafe { std::slice::from_raw_parts_mut(addr as *mut u8, len) }
}

/// Copies words of present pages, which the program may change meanwhile.
///
/// # Safety
/// All words must lie in present pages that can be read, and stay so. `addr` is aligned to a word.
pub unsafe fn words_at(addr: usize, into: &mut [u64]) {
    for (i, word) in into.iter_mut().enumerate() {
        // SAFETY: the caller vouches for presence; whatever writes there, words of memory are read whole.
        *word = unsafe { AtomicU64::from_ptr((addr as *mut u64).add(i)) }.load(Relaxed);
    }
}

/// Frames of a budget without a limit: more than any address space has.
const UNLIMITED: u64 = 1 << 48;

/// The budget of frames: every frame that holds program data or waits in the frame area counts.
///
/// Frames that are lent are used by others than the paged region, for which there are so many less.
pub struct Budget {
    limit: AtomicU64,
    /// What no limit is above.
    most: u64,
    /// Whether nobody has to make room for others.
    unlimited: AtomicBool,
    /// Including those that are lent.
    used: AtomicU64,
    lent: AtomicU64,
    counters: &'static Counters,
}

impl Budget {
    /// A budget of `limit` frames, none used.
    pub fn new(limit: u64, counters: &'static Counters) -> Self {
        let zero = || AtomicU64::new(0);
        let unlimited = AtomicBool::new(false);
        let (limited, used, lent) = (zero(), zero(), zero());
        let budget = Self { limit: limited, most: UNLIMITED, unlimited, used, lent, counters };
        budget.set_limit(limit);
        budget
    }

    /// A budget of as many frames as are asked for, until there is a limit. What is shown as that is no less than what is used.
    pub fn unlimited(counters: &'static Counters) -> Self {
        let budget = Self::new(0, counters);
        budget.limit.store(UNLIMITED, Relaxed);
        budget.unlimited.store(true, Relaxed);
        budget
    }

    /// The same with no more than `most` frames, whatever the limit.
    pub fn of_at_most(mut self, most: u64) -> Self {
        self.most = most;
        if self.is_unlimited() {
            self.limit.store(most, Relaxed);
        } else {
            self.set_limit(self.whole());
        }
        self
    }

    /// Whether there is no limit.
    pub fn is_unlimited(&self) -> bool {
        self.unlimited.load(Relaxed)
    }

    /// Shows so many bytes as the limit where there is none.
    pub fn show_limit(&self, bytes: u64) {
        self.counters.limit_bytes.fetch_max(bytes, Relaxed);
        // It may have been set meanwhile.
        if !self.is_unlimited() {
            self.counters.limit_bytes.store(self.whole() * PAGE as u64, Relaxed);
        }
    }

    /// Frames allowed to the paged region.
    pub fn limit(&self) -> u64 {
        self.limit.load(Relaxed).saturating_sub(self.lent()).max(1)
    }

    /// Frames that the paged region uses.
    pub fn used(&self) -> u64 {
        self.used.load(Relaxed).saturating_sub(self.lent())
    }

    /// Frames in use, those that are lent among them.
    pub fn whole_used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// Frames allowed, and those that are lent.
    pub fn whole(&self) -> u64 {
        self.limit.load(Relaxed)
    }

    /// Frames that are lent.
    pub fn lent(&self) -> u64 {
        self.lent.load(Relaxed)
    }

    /// Lends frames that the caller has taken.
    pub fn lend(&self, count: u64) {
        self.lent.fetch_add(count, Relaxed);
    }

    /// Gives frames that were lent back.
    pub fn give_lent(&self, count: u64) {
        self.lent.fetch_sub(count, Relaxed);
        self.give(count);
    }

    /// Changes the number of frames allowed.
    pub fn set_limit(&self, limit: u64) {
        let limit = limit.min(self.most);
        self.unlimited.store(false, Relaxed);
        self.limit.store(limit, Relaxed);
        self.counters.limit_bytes.store(limit * PAGE as u64, Relaxed);
    }

    /// Takes up to `want` frames; returns how many there were to be had.
    pub fn take(&self, want: u64) -> u64 {
        let limit = self.whole();
        let mut got = 0;
        let result = self.used.fetch_update(Relaxed, Relaxed, |used| {
            got = want.min(limit.saturating_sub(used));
            (got > 0).then_some(used + got)
        });
        if result.is_ok() {
            self.publish();
        }
        got
    }

    /// Gives `count` frames back.
    pub fn give(&self, count: u64) {
        if count > 0 {
            self.used.fetch_sub(count, Relaxed);
            self.publish();
        }
    }

    /// Takes frames whether there are any or not, because they are in use already.
    pub fn force(&self, count: u64) {
        self.used.fetch_add(count, Relaxed);
        self.publish();
    }

    fn publish(&self) {
        let bytes = self.used.load(Relaxed) * PAGE as u64;
        self.counters.resident_bytes.store(bytes, Relaxed);
        if bytes > self.counters.resident_peak_bytes.load(Relaxed) {
            self.counters.resident_peak_bytes.fetch_max(bytes, Relaxed);
            if self.is_unlimited() {
                self.show_limit(bytes);
            }
        }
    }
}

/// Words of the frame area that are in use from the start: 4 GiB of frames.
const FIRST_WORDS: usize = (1 << 20) / 64;

/// Consecutive positions of the frame area.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// First position.
    pub start: u32,
    /// Number of positions.
    pub count: u32,
}

/// The frame area: address space to which frames are moved out of the program's reach.
///
/// A position is *empty*, or *taken*: it holds the frame of a page, or is about to, or holds a *spare*
/// frame whose content nobody needs. No more of the area is in use than is needed: where there were frames once, the
/// kernel keeps tables.
pub struct FrameArea {
    base: usize,
    inner: Mutex<Positions>,
}

struct Positions {
    /// One bit per position, set if taken, of the part of the area that is in use.
    taken: Vec<u64>,
    /// How many of them are set.
    held: usize,
    /// Most words that there may be.
    most: usize,
    /// Where the search for empty positions goes on.
    cursor: usize,
    spare: SpareRuns,
}

impl FrameArea {
    /// An area of `positions` (a multiple of 64) empty positions at address `base`.
    pub fn new(base: usize, positions: u32) -> Self {
        let most = positions as usize / 64;
        let taken = vec![0; most.min(FIRST_WORDS)];
        let inner = Positions { taken, held: 0, most, cursor: 0, spare: SpareRuns::new() };
        Self { base, inner: Mutex::new(inner) }
    }

    /// Address of a position.
    #[inline]
    pub fn address(&self, position: u32) -> usize {
        self.base + position as usize * PAGE
    }

    fn lock(&self) -> MutexGuard<'_, Positions> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes up to `want` empty positions that lie side by side; `None` if the area is full.
    pub fn take_empty(&self, want: u32) -> Option<Run> {
        self.lock().take_empty(want)
    }

    /// Says that positions are empty again.
    pub fn leave_empty(&self, run: Run) {
        self.lock().clear(run);
    }

    /// Says that taken positions hold spare frames now.
    pub fn add_spare(&self, run: Run) {
        self.lock().spare.add(run);
    }

    /// The positions that hold spare frames, and the number of taken ones.
    pub fn positions(&self) -> (Vec<u32>, u64) {
        let inner = self.lock();
        let spare = inner.spare.runs().flat_map(|run| run.start..run.start + run.count).collect();
        (spare, inner.taken.iter().map(|word| u64::from(word.count_ones())).sum())
    }

    /// How many spare frames there are.
    pub fn spare_count(&self) -> u64 {
        self.lock().spare.count()
    }

    /// Takes up to `want` spare frames that lie side by side; `None` if there are none.
    pub fn take_spare(&self, want: u32) -> Option<Run> {
        self.lock().spare.take(want)
    }
}

impl Positions {
    fn take_empty(&mut self, want: u32) -> Option<Run> {
        // Where little is empty, it lies in pieces.
        let is_tight = self.held + want as usize > self.taken.len() * 64 / 8 * 7;
        if is_tight && self.taken.len() < self.most {
            self.taken.resize((2 * self.taken.len()).min(self.most), 0);
        }
        let words = self.taken.len();
        let mut best = Run { start: 0, count: 0 };
        let mut run = Run { start: 0, count: 0 };
        for step in 0..words {
            let word = (self.cursor + step) % words;
            if word == 0 {
                run.count = 0;
            }
            let bits = self.taken[word];
            if bits == u64::MAX {
                run.count = 0;
                continue;
            }
            for bit in 0..64 {
                if bits >> bit & 1 == 1 {
                    run.count = 0;
                    continue;
                }
                if run.count == 0 {
                    run.start = word as u32 * 64 + bit;
                }
                run.count += 1;
                if run.count > best.count {
                    best = run;
                }
                if best.count >= want {
                    break;
                }
            }
            if best.count >= want || (best.count > 0 && step > 64) {
                self.cursor = word;
                break;
            }
        }
        if best.count == 0 {
            return None;
        }
        let taken = Run { start: best.start, count: best.count.min(want) };
        for position in taken.start..taken.start + taken.count {
            self.taken[position as usize / 64] |= 1 << (position % 64);
        }
        self.held += taken.count as usize;
        Some(taken)
    }

    fn clear(&mut self, run: Run) {
        for position in run.start..run.start + run.count {
            self.taken[position as usize / 64] &= !(1 << (position % 64));
        }
        self.held -= run.count as usize;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_is_never_overdrawn() {
        let counters = Box::leak(Box::default());
        let budget = Budget::new(10, counters);
        assert_eq!(budget.take(7), 7);
        assert_eq!(budget.take(7), 3);
        assert_eq!(budget.take(1), 0);
        budget.give(4);
        assert_eq!(budget.take(9), 4);
        assert_eq!(counters.resident_peak_bytes.load(Relaxed), 10 * 4096);
    }

    #[test]
    fn without_a_limit_what_is_used_is_shown_until_there_is_one() {
        let counters = Box::leak(Box::default());
        let budget = Budget::unlimited(counters);
        let shown = || counters.limit_bytes.load(Relaxed) / PAGE as u64;
        assert_eq!((budget.take(5000), budget.is_unlimited(), shown()), (5000, true, 5000));
        budget.give(4000);
        assert_eq!((budget.take(10), shown()), (10, 5000));
        budget.set_limit(1200);
        assert_eq!((budget.take(9000), budget.is_unlimited(), shown()), (190, false, 1200));
        // Somebody who saw that there was none comes late.
        budget.show_limit(1 << 40);
        assert_eq!(shown(), 1200);
        let bounded = Budget::unlimited(counters).of_at_most(700);
        assert_eq!((bounded.take(5000), bounded.is_unlimited()), (700, true));
        bounded.set_limit(1 << 35);
        assert_eq!((bounded.limit(), shown()), (700, 700));
        assert_eq!(Budget::new(1 << 35, counters).of_at_most(700).limit(), 700);
    }

    #[test]
    fn lent_frames_are_used_and_not_allowed_any_more() {
        let counters = Box::leak(Box::default());
        let budget = Budget::new(10, counters);
        assert_eq!(budget.take(6), 6);
        budget.lend(4);
        assert_eq!((budget.limit(), budget.used(), budget.take(9)), (6, 2, 4));
        assert_eq!(counters.resident_bytes.load(Relaxed), 10 * 4096);
        budget.give_lent(4);
        assert_eq!((budget.limit(), budget.used(), budget.take(9)), (10, 6, 4));
    }

    #[test]
    fn positions_are_handed_out_once() {
        let area = FrameArea::new(0, 128);
        let mut seen = std::collections::HashSet::new();
        while let Some(run) = area.take_empty(7) {
            for position in run.start..run.start + run.count {
                assert!(position < 128 && seen.insert(position));
            }
        }
        assert_eq!(seen.len(), 128);
        area.leave_empty(Run { start: 10, count: 5 });
        assert_eq!(area.take_empty(64), Some(Run { start: 10, count: 5 }));
    }

    #[test]
    fn no_more_of_the_area_is_used_than_is_needed() {
        let most = 4 * FIRST_WORDS as u32 * 64;
        let area = FrameArea::new(0, most);
        let first = FIRST_WORDS as u32 * 64;
        for _ in 0..8 * first / 64 {
            let run = area.take_empty(64).unwrap();
            assert!(run.count == 64 && run.start + 64 <= first);
            area.leave_empty(run);
        }
        let mut taken = 0;
        while let Some(run) = area.take_empty(64) {
            assert!(run.start + run.count <= most);
            taken += run.count;
        }
        assert_eq!(taken, most);
    }

    #[test]
    fn spare_frames_come_back_in_runs() {
        let area = FrameArea::new(0, 128);
        let run = area.take_empty(64).unwrap();
        area.add_spare(Run { start: run.start, count: 32 });
        area.add_spare(Run { start: run.start + 32, count: 32 });
        assert_eq!(area.take_spare(64), Some(run));
        assert_eq!(area.take_spare(1), None);
    }
}
