//! Whether a thread comes back to pages soon after they were unmapped, so that a larger microset would have spared it
//! these faults.
//!
//! Who goes down the columns of a matrix that is stored by rows uses another page with each access, and the same ones
//! with each column. If they are more than a microset, each access is a fault.

use std::collections::HashMap;

/// Faults that are judged together.
const WINDOW: u32 = 4096;

/// Windows in a row that are so, until a microset grows: larger ones say less of the order of pages.
const PATIENCE: u32 = 32;

/// The largest microset that is grown to, in pages.
const MOST: usize = 1 << 16;

/// The pages that a thread used, and how its faults go back to them.
#[derive(Debug)]
pub struct Returns {
    /// Number of the last note of each page that was used lately.
    noted: HashMap<u64, u64>,
    /// Notes so far.
    count: u64,
    faults: u32,
    /// Windows in a row in which a larger microset would have spared most faults.
    windows: u32,
    /// Faults of this window that the microset of that [step](sizes) would have spared, and none before.
    spared: Vec<u32>,
}

/// Sizes that a microset of `size` pages may grow to, each by an eighth to a sixteenth more than the one before.
fn sizes(size: usize) -> impl Iterator<Item = usize> {
    let doubled = std::iter::successors(Some(size), |size| size.checked_mul(2));
    let all =
        doubled.flat_map(|size| (9..=16).map(move |eighths| size.saturating_mul(eighths) / 8));
    all.take_while(|size| *size <= MOST)
}

impl Returns {
    /// Of a thread that has used nothing.
    pub fn new() -> Self {
        let (noted, spared) = (HashMap::new(), Vec::new());
        Self { noted, count: 0, faults: 0, windows: 0, spared }
    }

    /// Pages were noted: `count` of them from `first` on.
    pub fn note(&mut self, first: u64, count: u64) {
        for page in first..first + count {
            self.noted.insert(page, self.count);
            self.count += 1;
        }
        if self.noted.len() > 2 * MOST {
            let old = self.count - MOST as u64;
            self.noted.retain(|_, number| *number >= old);
        }
    }

    /// Whether a page was noted among the last `notes`.
    pub fn is_among_last(&self, page: u64, notes: u64) -> bool {
        self.noted.get(&page).is_some_and(|number| self.count - number <= notes)
    }

    /// The thread, whose microsets have `size` pages, faulted on a page.
    pub fn fault(&mut self, page: u64, size: usize) {
        if self.faults == 0 {
            self.spared.clear();
            self.spared.resize(sizes(size).count(), 0);
        }
        self.faults += 1;
        let Some(number) = self.noted.get(&page) else { return };
        // Not all that is used comes in the same order again.
        let apart = (self.count - number) / 8 * 9;
        let step = sizes(size).position(|size| apart <= size as u64);
        if let Some(spared) = step.and_then(|step| self.spared.get_mut(step)) {
            *spared += 1;
        }
    }

    /// The size that would have spared the thread three in four of its faults for long; `most` at most.
    pub fn better_size(&mut self, size: usize, most: usize) -> Option<usize> {
        if self.faults < WINDOW {
            return None;
        }
        let enough = self.faults / 4 * 3;
        self.faults = 0;
        let mut spared = 0;
        let first = sizes(size).zip(&self.spared).find(|(_, more)| {
            spared += **more;
            spared >= enough
        });
        let better = first.map(|(size, _)| size).filter(|size| *size <= most);
        self.windows = if better.is_some() { self.windows + 1 } else { 0 };
        if self.windows < PATIENCE {
            return None;
        }
        self.windows = 0;
        better
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a thread with microsets of 1,024 pages grows to, that uses `pages` pages again and again, with a fault
    /// each time.
    fn grown(pages: u64, most: usize) -> Option<usize> {
        let mut returns = Returns::new();
        for i in 0..200_000 {
            returns.fault(i % pages, 1024);
            returns.note(i % pages, 1);
            if let Some(size) = returns.better_size(1024, most) {
                return Some(size);
            }
        }
        None
    }

    #[test]
    fn microsets_grow_until_what_is_used_again_fits() {
        let eighths = [1152, 1280, 1408, 1536, 1664, 1792, 1920, 2048, 2304];
        assert!(sizes(1024).take(9).eq(eighths));
        assert_eq!(grown(1100, MOST), Some(1280));
        assert_eq!(grown(8000, MOST), Some(9216));
        assert_eq!(grown(8000, 9215), None);
        assert_eq!(grown(1_000_000, MOST), None);
    }

    #[test]
    fn the_last_notes_are_known() {
        let mut returns = Returns::new();
        returns.note(70, 3);
        returns.note(40, 2);
        let among = |notes| [70, 71, 72, 40, 41, 42].map(|page| returns.is_among_last(page, notes));
        assert_eq!(among(0), [false; 6]);
        assert_eq!(among(3), [false, false, true, true, true, false]);
        assert_eq!(among(5), [true, true, true, true, true, false]);
    }

    #[test]
    fn what_was_used_long_ago_is_forgotten() {
        let mut returns = Returns::new();
        returns.note(0, 10 * MOST as u64);
        assert!(returns.noted.len() <= 2 * MOST);
        let newest = returns.count - 1;
        assert_eq!(returns.noted.get(&newest), Some(&newest));
    }
}
