//! Phases of a run: stretches of time that use pages of their own.
//!
//! Each stretch of a [`Heat`] is a vector of `ln(1 + accesses)` by range of pages. The change at the border
//! between two stretches is the cosine distance of the means of the [`NEAR`] stretches before and
//! behind it: 0 if both use the same ranges alike, 1 if they share none. A phase begins where the change is
//! at least [`LEAST_CHANGE`], at least twice the median over the trace - so that one long scan is one
//! phase - and greatest among the borders within [`NEAR`] stretches.

use farside_trace::PageId;

use crate::heat::Heat;
use crate::page_map::PageMap;

/// Stretches on each side that are compared, and the shortest phase.
pub const NEAR: usize = 4;

/// The least change between two phases.
pub const LEAST_CHANGE: f64 = 0.3;

/// A phase of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Number of its first access.
    pub begin: u64,
    /// Number of the first access behind it.
    pub end: u64,
    /// The change at its beginning; 0 for the first phase.
    pub change: f64,
}

/// The phases, at most `most`: the greatest changes count. At least one, unless there is no access.
pub fn phases(heat: &Heat, most: usize) -> Vec<Phase> {
    let changes = changes(heat);
    let mut sorted = changes.clone();
    sorted.sort_by(f64::total_cmp);
    let median = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
    let least = LEAST_CHANGE.max(2.0 * median);
    let mut borders: Vec<(usize, f64)> = Vec::new();
    for (border, change) in changes.iter().copied().enumerate() {
        let near = &changes[border.saturating_sub(NEAR - 1)..(border + NEAR).min(changes.len())];
        // Of equal changes the first one counts.
        let apart = borders.last().is_none_or(|(last, _)| border - last >= NEAR);
        if change >= least && apart && near.iter().all(|other| *other <= change) {
            borders.push((border, change));
        }
    }
    borders.sort_by(|a, b| b.1.total_cmp(&a.1));
    borders.truncate(most.saturating_sub(1));
    borders.sort_by_key(|(border, _)| *border);
    let mut begin = (0, 0.0);
    let mut found = Vec::new();
    let ends = borders.into_iter().map(|(border, change)| (heat.access_at(border + 1), change));
    for (end, change) in ends.chain([(heat.access_at(heat.columns()), 0.0)]) {
        found.push(Phase { begin: begin.0, end, change: begin.1 });
        begin = (end, change);
    }
    found
}

/// The change at the border behind each stretch but the last.
fn changes(heat: &Heat) -> Vec<f64> {
    let columns = heat.columns();
    let mean = |from: usize, to: usize| -> Vec<f64> {
        let row = |row: &[u32]| row[from..to].iter().map(|cell| f64::from(*cell).ln_1p()).sum();
        heat.cells().chunks(columns).map(row).collect()
    };
    (1..columns)
        .map(|at| distance(&mean(at.saturating_sub(NEAR), at), &mean(at, (at + NEAR).min(columns))))
        .collect()
}

/// The cosine distance; 0 if one of the vectors is.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    if lengths == 0.0 { 0.0 } else { (1.0 - dot(a, b) / lengths).max(0.0) }
}

/// What each phase touches.
#[derive(Clone, Debug)]
pub struct PhaseUse {
    ends: Vec<u64>,
    now: usize,
    seen: u64,
    /// By page: the phase in which it was touched last.
    last: PageMap,
    pages: Vec<u64>,
    /// By phase and region.
    accesses: Vec<Vec<u64>>,
}

impl PhaseUse {
    /// Before the first access of a trace with these phases, whose pages lie in `regions` regions.
    pub fn new(phases: &[Phase], regions: usize) -> Self {
        Self {
            ends: phases.iter().map(|phase| phase.end).collect(),
            now: 0,
            seen: 0,
            last: PageMap::new(),
            pages: vec![0; phases.len()],
            accesses: vec![vec![0; regions]; phases.len()],
        }
    }

    /// Counts the next access.
    #[inline]
    pub fn add(&mut self, page: PageId, region: usize) {
        while self.ends.get(self.now).is_some_and(|end| self.seen >= *end) {
            self.now += 1;
        }
        self.seen += 1;
        let Some(pages) = self.pages.get_mut(self.now) else { return };
        let last = std::mem::replace(self.last.entry(page), self.now as u32);
        *pages += u64::from(last != self.now as u32);
        if let Some(count) = self.accesses[self.now].get_mut(region) {
            *count += 1;
        }
    }

    /// Different pages of each phase.
    pub fn pages(&self) -> &[u64] {
        &self.pages
    }

    /// The region that a phase uses most, and its share of the phase's accesses.
    pub fn main_region(&self, phase: usize) -> Option<(usize, f64)> {
        let counts = self.accesses.get(phase)?;
        let all: u64 = counts.iter().sum();
        let (region, most) = counts.iter().enumerate().max_by_key(|(_, count)| **count)?;
        (all > 0).then(|| (region, *most as f64 / all as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heat(ranks: impl ExactSizeIterator<Item = u64>, pages: u64) -> Heat {
        let mut heat = Heat::new(ranks.len() as u64, pages, 40, 32);
        ranks.for_each(|rank| heat.add(rank));
        heat
    }

    fn begins(heat: &Heat) -> Vec<u64> {
        phases(heat, 10).iter().map(|phase| phase.begin).collect()
    }

    #[test]
    fn a_phase_begins_where_other_pages_are_used() {
        let part = |i: usize| if (10_000..30_000).contains(&i) { 50 } else { 0 };
        let found = heat((0..40_000usize).map(|i| part(i) + i as u64 % 50), 100);
        assert_eq!(begins(&found), [0, 10_000, 30_000]);
        assert_eq!(phases(&found, 2).len(), 2);
        let ends: Vec<u64> = phases(&found, 10).iter().map(|phase| phase.end).collect();
        assert_eq!(ends, [10_000, 30_000, 40_000]);
    }

    #[test]
    fn steady_use_and_one_long_scan_are_one_phase() {
        assert_eq!(begins(&heat((0..40_000u32).map(|i| u64::from(i % 97)), 97)), [0]);
        assert_eq!(begins(&heat((0..40_000u32).map(|i| u64::from(i / 400)), 100)), [0]);
        assert_eq!(begins(&heat(std::iter::empty::<u64>(), 0)), [0]);
    }

    #[test]
    fn each_phase_counts_its_pages_and_regions() {
        let phase = |begin, end| Phase { begin, end, change: 0.0 };
        let mut used = PhaseUse::new(&[phase(0, 4), phase(4, 6)], 2);
        for (page, region) in [(1, 0), (2, 1), (1, 0), (1, 0), (1, 0), (3, 1), (9, 0)] {
            used.add(PageId(page), region);
        }
        assert_eq!(used.pages(), [2, 2]);
        assert_eq!(used.main_region(0), Some((0, 0.75)));
        assert_eq!(used.main_region(2), None);
    }
}
