//! What pages are fetched for: which of them somebody waits for, and how they are to arrive.

use std::ops::Range;

use farside_policy::replacement::Arrival;
use farside_wire::hint_board::PlaceNumber;

/// What pages that are fetched together are for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Purpose {
    /// From the first to before the second: those that somebody waits for.
    first: u64,
    end: u64,
    /// The program said so before it used them.
    hinted: bool,
    /// All will be written: they are mapped so that they can be.
    write: bool,
    /// Eviction priority that all get.
    priority: u8,
    /// Where the hint was given, if hints are watched.
    place: PlaceNumber,
}

impl Purpose {
    /// Nobody waits for any.
    pub const NONE: Self =
        Self { first: 0, end: 0, hinted: false, write: false, priority: 0, place: 0 };

    /// The program waits for this page.
    pub fn page(page: u64) -> Self {
        Self { first: page, end: page + 1, ..Self::NONE }
    }

    /// The program says that it is about to use these pages.
    pub fn hinted(pages: Range<u64>, write: bool, priority: u8) -> Self {
        Self { first: pages.start, end: pages.end, hinted: true, write, priority, place: 0 }
    }

    /// The same because of a hint at that place.
    #[must_use]
    pub fn given_at(self, place: PlaceNumber) -> Self {
        Self { place, ..self }
    }

    /// The place of the hint; 0 if there is none, or hints are not watched.
    pub fn place(&self) -> PlaceNumber {
        self.place
    }

    /// The same pages, for which nobody waits.
    #[must_use]
    pub fn ahead(self) -> Self {
        Self { first: 0, end: 0, ..self }
    }

    /// Whether somebody waits for a page.
    pub fn holds(&self, page: u64) -> bool {
        (self.first..self.end).contains(&page)
    }

    /// Those of `count` pages from `first` on, counted from there, that somebody waits for.
    pub fn among(&self, first: u64, count: u64) -> Range<u64> {
        let end = self.end.clamp(first, first + count);
        self.first.clamp(first, end) - first..end - first
    }

    /// Whether a thread sleeps for some of `count` pages from `first` on that has not said so: not who gave a hint, and
    /// whoever comes while they are on their way says so.
    pub fn is_slept_for(&self, first: u64, count: u64) -> bool {
        !self.hinted && !self.among(first, count).is_empty()
    }

    /// Whether the program said that it needs them.
    pub fn is_hinted(&self) -> bool {
        self.hinted
    }

    /// Whether the pages will be written.
    pub fn for_writing(&self) -> bool {
        self.write
    }

    /// Eviction priority of the pages.
    pub fn priority(&self) -> u8 {
        self.priority
    }

    /// Why a page comes.
    pub fn arrival(&self, page: u64) -> Arrival {
        if self.holds(page) { Arrival::Demand } else { Arrival::Prefetch }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_are_waited_for_are_found_among_others() {
        let purpose = Purpose::hinted(10..14, false, 0);
        assert_eq!(purpose.among(8, 4), 2..4);
        assert_eq!(purpose.among(12, 8), 0..2);
        assert_eq!(purpose.among(0, 100), 10..14);
        assert!(purpose.among(14, 4).is_empty() && purpose.among(2, 4).is_empty());
        assert!(Purpose::NONE.among(0, 4).is_empty());
        assert!(purpose.holds(13) && !purpose.holds(14) && !purpose.ahead().holds(13));
    }
}
