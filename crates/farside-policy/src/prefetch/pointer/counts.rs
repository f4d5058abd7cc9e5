//! What the prefetcher did.

/// What was done about pointers.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct PointerCounts {
    /// Places that were looked at for pointers.
    pub scanned: u64,
    /// Pointers to far pages that were found there by links.
    pub candidates: u64,
    /// Pages that were sent for and seen to be used.
    pub used: u64,
    /// Those that the program came to when they were still on their way.
    pub late: u64,
    /// Those that left without having been used, as far as is known.
    pub unused: u64,
}
