//! Which pages of the far region the pages of a tape are, in this process.

use std::collections::{BTreeMap, HashMap};

use farside_wire::tape_image::Region;

use crate::names::{RegionName, Renamed};

/// Ranges of pages, and where they lie in another numbering.
#[derive(Debug, Default)]
struct Ranges {
    /// First page: number of pages, and the page that the first one is there.
    by_first: BTreeMap<u64, (u64, u64)>,
}

impl Ranges {
    fn put(&mut self, first: u64, count: u64, there: u64) {
        self.cut(first, first + count);
        self.by_first.insert(first, (count, there));
    }

    /// Leaves nothing between `first` and `end`; returns what was there, as ranges of the other numbering.
    fn cut(&mut self, first: u64, end: u64) -> Vec<(u64, u64)> {
        let mut gone = Vec::new();
        while let Some((start, count, there)) = self.overlapping(first, end) {
            self.by_first.remove(&start);
            let (from, to) = (start.max(first), (start + count).min(end));
            if start < from {
                self.by_first.insert(start, (from - start, there));
            }
            if start + count > to {
                self.by_first.insert(to, (start + count - to, there + (to - start)));
            }
            gone.push((there + (from - start), to - from));
        }
        gone
    }

    fn overlapping(&self, first: u64, end: u64) -> Option<(u64, u64, u64)> {
        let (start, (count, there)) = self.by_first.range(..end).next_back()?;
        (start + count > first).then_some((*start, *count, *there))
    }

    fn find(&self, page: u64) -> Option<u64> {
        let (first, (count, there)) = self.by_first.range(..=page).next_back()?;
        (page - first < *count).then(|| there + (page - first))
    }
}

/// Binds regions of a tape to allocations as they are made.
#[derive(Debug)]
pub struct Binding {
    regions: HashMap<RegionName, Region>,
    here: Ranges,
    tape: Ranges,
}

impl Binding {
    /// Nothing is allocated yet.
    pub fn new(regions: &[Region]) -> Self {
        let named = |region: &Region| (RegionName { site: region.site, nth: region.nth }, *region);
        Self {
            regions: regions.iter().map(named).collect(),
            here: Ranges::default(),
            tape: Ranges::default(),
        }
    }

    /// Takes note of an allocation, or of its end.
    pub fn apply(&mut self, renamed: Renamed) {
        match renamed {
            Renamed::Appeared { first, count, name, offset } => {
                let Some(region) = self.regions.get(&name) else { return };
                let count = count.min(region.count.saturating_sub(offset));
                if count > 0 {
                    self.tape.put(first, count, region.first + offset);
                    self.here.put(region.first + offset, count, first);
                }
            }
            Renamed::Vanished { first, count } => {
                for (tape, count) in self.tape.cut(first, first + count) {
                    self.here.cut(tape, tape + count);
                }
            }
        }
    }

    /// The page of the far region that a page of the tape is, if it is allocated.
    pub fn here(&self, tape: u64) -> Option<u64> {
        self.here.find(tape)
    }

    /// The page of the tape that a page of the far region is, if it is on it.
    pub fn on_tape(&self, page: u64) -> Option<u64> {
        self.tape.find(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn appeared(first: u64, count: u64, nth: u32, offset: u64) -> Renamed {
        Renamed::Appeared { first, count, name: RegionName { site: 7, nth }, offset }
    }

    #[test]
    fn pages_are_found_both_ways_while_they_are_allocated() {
        let region = |nth, first| Region { site: 7, nth, first, count: 100 };
        let mut binding = Binding::new(&[region(0, 1000), region(1, 2000)]);
        binding.apply(appeared(50, 60, 1, 0));
        binding.apply(appeared(110, 60, 1, 60));
        binding.apply(appeared(500, 100, 0, 0));
        binding.apply(appeared(700, 100, 9, 0));
        assert_eq!(
            [2000, 2059, 2060, 2099].map(|page| binding.here(page)),
            [50, 109, 110, 149].map(Some)
        );
        assert_eq!([50, 149, 500].map(|page| binding.on_tape(page)), [2000, 2099, 1000].map(Some));
        // The region was shorter when it was recorded.
        assert_eq!(
            (binding.on_tape(150), binding.here(2100), binding.on_tape(700)),
            (None, None, None)
        );
        binding.apply(Renamed::Vanished { first: 100, count: 30 });
        assert_eq!(
            [2049, 2050, 2079, 2080].map(|page| binding.here(page)),
            [Some(99), None, None, Some(130)]
        );
        // The place is used again.
        binding.apply(appeared(100, 30, 0, 10));
        assert_eq!((binding.on_tape(100), binding.here(1010)), (Some(1010), Some(100)));
    }
}
