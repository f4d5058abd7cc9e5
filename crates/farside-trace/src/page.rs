//! Page numbers and runs of pages.

/// Binary logarithm of [`PAGE_SIZE`].
pub const PAGE_SHIFT: u32 = 12;

/// Bytes in a page of the far region.
pub const PAGE_SIZE: usize = 1 << PAGE_SHIFT;

/// A page number: in the pager the index of a page of the far region, in a trace the address of an
/// access divided by [`PAGE_SIZE`].
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId(pub u64);

/// `count` consecutive pages, the lowest of which is `first`.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct PageRange {
    /// Lowest page.
    pub first: PageId,
    /// Number of pages; a range may be empty.
    pub count: u64,
}

impl PageRange {
    /// The range that holds `page` alone.
    pub const fn single(page: PageId) -> Self {
        Self { first: page, count: 1 }
    }

    /// `count` pages from `first` on.
    pub const fn new(first: PageId, count: u64) -> Self {
        Self { first, count }
    }

    /// First page number after the range.
    pub const fn end(self) -> u64 {
        self.first.0.saturating_add(self.count)
    }

    /// Whether `page` lies in the range.
    pub const fn contains(self, page: PageId) -> bool {
        page.0 >= self.first.0 && page.0 < self.end()
    }

    /// Whether the range holds no page.
    pub const fn is_empty(self) -> bool {
        self.count == 0
    }

    /// The pages of the range in ascending order.
    pub fn pages(self) -> impl DoubleEndedIterator<Item = PageId> + Clone {
        (self.first.0..self.end()).map(PageId)
    }
}
