//! Small numbers for the pages of a trace.

use farside_trace::{PageId, PageRange};

use super::PlanError;
use super::kept::Kept;
use super::page_numbers::PageNumbers;
use crate::page_map::NONE;

/// Set in the number of a page whose content has come to be.
const TOUCHED: u32 = 1 << 31;

/// Most different pages of a trace: their numbers leave two bits of a word to others.
pub(super) const MOST_PAGES: u32 = 1 << 30;

/// A use of a page by a thread.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Use {
    /// Number of the page.
    pub page: u32,
    /// Whether it is the first of any thread since the page came to be.
    pub first: bool,
    /// Whether it is the first of any thread of a page whose content is older than the trace.
    pub kept: bool,
    /// Whether it begins with a write.
    pub write: bool,
}

/// Pages by number, in order of appearance, and which of them have content.
#[derive(Debug, Default)]
pub(super) struct Pages {
    numbers: PageNumbers,
    pages: Vec<PageId>,
    /// Of pages that have not been used since.
    kept: Kept,
}

impl Pages {
    /// Takes in a use of `page`.
    #[inline]
    pub fn use_of(&mut self, page: PageId, write: bool) -> Result<Use, PlanError> {
        let number = self.numbers.entry(page);
        if *number == NONE {
            let next = self.pages.len() as u32;
            if next == MOST_PAGES {
                return Err(PlanError::TooManyPages);
            }
            self.pages.push(page);
            *number = next;
        }
        let (known, new) = (*number & !TOUCHED, *number & TOUCHED == 0);
        *number |= TOUCHED;
        let kept = new && self.kept.contains(page);
        Ok(Use { page: known, first: new && !kept, kept, write })
    }

    /// The pages of `range` have content that is older than the trace.
    pub fn keep(&mut self, range: Option<PageRange>) {
        range.into_iter().for_each(|range| self.kept.add(range));
    }

    /// The content of the pages in `range` is gone; calls `forget` with the number of each that had any.
    pub fn discard(&mut self, range: PageRange, mut forget: impl FnMut(u32)) {
        self.kept.discard(range);
        let touched = |(_, number): &(PageId, u32)| *number & TOUCHED != 0;
        let gone: Vec<_> = self.numbers.in_range(range).filter(touched).collect();
        for (page, number) in gone {
            *self.numbers.entry(page) &= !TOUCHED;
            forget(number & !TOUCHED);
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// The page of a number.
    #[inline]
    pub fn page(&self, number: u32) -> PageId {
        self.pages[number as usize]
    }

    /// The numbers of the pages in `range`.
    pub fn numbers_in(&self, range: PageRange) -> impl Iterator<Item = u32> + '_ {
        self.numbers.in_range(range).map(|(_, number)| number & !TOUCHED)
    }
}
