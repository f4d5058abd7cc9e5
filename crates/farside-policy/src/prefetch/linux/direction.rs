//! Which way a stream goes.

use farside_trace::{PageId, PageRange};

/// Ascending or descending page numbers.
///
/// A stream counts *steps*: page numbers if it ascends, and page numbers counted down from the
/// highest if it descends. So everything but this type deals with ascending numbers only.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Up,
    Down,
}

impl Direction {
    pub(super) const BOTH: [Self; 2] = [Self::Up, Self::Down];

    /// The step of `page`.
    pub(super) const fn step(self, page: PageId) -> u64 {
        match self {
            Self::Up => page.0,
            Self::Down => !page.0,
        }
    }

    /// The last step a stream can come to. The highest page number of all cannot be part of a range.
    const fn last_step(self) -> u64 {
        match self {
            Self::Up => u64::MAX - 1,
            Self::Down => u64::MAX,
        }
    }

    /// How many of `count` steps there are after `step`.
    pub(super) fn room_after(self, step: u64, count: u32) -> u32 {
        let room = self.last_step().saturating_sub(step);
        count.min(u32::try_from(room).unwrap_or(u32::MAX))
    }

    /// The pages of the steps from `first` to `last`.
    pub(super) const fn pages(self, first: u64, last: u64) -> PageRange {
        let lowest = match self {
            Self::Up => first,
            Self::Down => !last,
        };
        PageRange::new(PageId(lowest), last - first + 1)
    }
}
