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
///
/// An allocation whose name is not on the tape takes the place of the region that was made at its point in the
/// order of allocations, until one of that name is made: in some programs, chance decides which of several places
/// needs more memory first.
#[derive(Debug)]
pub struct Binding {
    /// In the order in which they were made.
    regions: Vec<Region>,
    /// Their places in this order; other names stand for one of them.
    places: HashMap<RegionName, usize>,
    /// Regions that an allocation was bound to.
    bound: Vec<bool>,
    /// The place after the last of them.
    next: usize,
    here: Ranges,
    tape: Ranges,
}

impl Binding {
    /// Nothing is allocated yet.
    pub fn new(regions: &[Region]) -> Self {
        let (mut here, mut tape) = (Ranges::default(), Ranges::default());
        // Pages that belong to no allocation: their offset is the number of the page.
        for Region { first, count, .. } in regions.iter().filter(|r| (r.site, r.nth) == (0, 0)) {
            here.put(*first, *count, 0);
            tape.put(0, *count, *first);
        }
        let name = |region: &Region| RegionName { site: region.site, nth: region.nth };
        Self {
            regions: regions.to_vec(),
            places: regions.iter().map(name).zip(0..).collect(),
            bound: regions.iter().map(|region| (region.site, region.nth) == (0, 0)).collect(),
            next: 0,
            here,
            tape,
        }
    }

    /// Takes note of an allocation, or of its end.
    pub fn apply(&mut self, renamed: Renamed) {
        match renamed {
            Renamed::Appeared { first, count, name, offset } => {
                // Also what is not on the tape belongs to an allocation now.
                self.vacate(first, count);
                let Some(region) = self.region_of(name) else { return };
                let count = count.min(region.count.saturating_sub(offset));
                if count > 0 {
                    self.tape.put(first, count, region.first + offset);
                    self.here.put(region.first + offset, count, first);
                }
            }
            Renamed::Vanished { first, count } => self.vacate(first, count),
        }
    }

    /// Pages of the far region are none of the tape.
    fn vacate(&mut self, first: u64, count: u64) {
        for (tape, count) in self.tape.cut(first, first + count) {
            self.here.cut(tape, tape + count);
        }
    }

    /// The region that an allocation of that name is, or takes the place of.
    fn region_of(&mut self, name: RegionName) -> Option<Region> {
        let place = match self.places.get(&name) {
            Some(place) => *place,
            None => {
                let place =
                    Some(self.next).filter(|place| self.bound.get(*place) == Some(&false))?;
                self.places.insert(name, place);
                place
            }
        };
        if !std::mem::replace(&mut self.bound[place], true) {
            self.next = place + 1;
        }
        Some(self.regions[place])
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
    fn pages_of_no_allocation_are_known_by_their_numbers() {
        let unnamed = Region { site: 0, nth: 0, first: 5000, count: 40 };
        let mut binding = Binding::new(&[unnamed, Region { site: 7, nth: 0, first: 0, count: 9 }]);
        assert_eq!((binding.on_tape(39), binding.on_tape(40)), (Some(5039), None));
        assert_eq!((binding.here(5000), binding.here(5039)), (Some(0), Some(39)));
        binding.apply(appeared(10, 9, 0, 0));
        assert_eq!([9, 10, 18, 19].map(|page| binding.on_tape(page)), [5009, 0, 8, 5019].map(Some));
        // The region was shorter when it was recorded: its other pages belong to no allocation no more.
        binding.apply(appeared(20, 10, 0, 4));
        assert_eq!(
            [19, 20, 24, 25].map(|page| binding.on_tape(page)),
            [Some(5019), Some(4), Some(8), None]
        );
        assert_eq!(
            (binding.here(5019), binding.here(5025), binding.here(5030)),
            (Some(19), None, Some(30))
        );
    }

    #[test]
    fn a_region_of_an_unknown_name_takes_the_place_of_the_one_that_was_made_then() {
        let region = |nth| Region { site: 7, nth, first: 1000 * u64::from(nth), count: 100 };
        let mut binding = Binding::new(&[region(1), region(2), region(3)]);
        binding.apply(appeared(10, 10, 1, 0));
        binding.apply(appeared(20, 10, 8, 0));
        assert_eq!([10, 20].map(|page| binding.on_tape(page)), [1000, 2000].map(Some));
        binding.apply(appeared(30, 10, 3, 0));
        // There is none at this point.
        binding.apply(appeared(40, 10, 9, 0));
        // The first one goes on.
        binding.apply(appeared(50, 10, 8, 10));
        assert_eq!([30, 40, 50].map(|page| binding.on_tape(page)), [Some(3000), None, Some(2010)]);
        assert_eq!(binding.here(2010), Some(50));
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
