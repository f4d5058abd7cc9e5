//! What the prefetcher sees of memory.

/// Where a page is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// It can be read.
    Here,
    /// The same, but it was fetched ahead, and not used since.
    Unused,
    /// It has to be fetched.
    Far,
    /// It is on its way, or nobody's.
    Elsewhere,
}

/// What the prefetcher sees of memory. Pages are addresses divided by 4096.
pub trait Memory {
    /// Where a page is.
    fn place(&self, page: u64) -> Place;

    /// Copies the words from an aligned address on, all of one page; false if they cannot be read.
    fn read(&mut self, address: u64, into: &mut [u64]) -> bool;

    /// Of the pages full of pointers that came lately, the one before which so many others came; at most
    /// [`ARRAY_PAGES`](super::ARRAY_PAGES) are remembered. It may be gone.
    fn array_page(&self, age: usize) -> Option<u64>;
}
