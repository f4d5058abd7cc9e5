//! The page access log.

use super::SpacePage;

/// Accesses that software has not read yet.
#[derive(Clone, Debug)]
pub struct PageAccessLog {
    entries: Vec<SpacePage>,
    size: usize,
}

impl PageAccessLog {
    /// An empty log of `size` entries, at least one.
    pub fn new(size: usize) -> Self {
        Self { entries: Vec::with_capacity(size.max(1)), size: size.max(1) }
    }

    /// Appends an entry; whether the log is full now.
    pub fn push(&mut self, page: SpacePage) -> bool {
        self.entries.push(page);
        self.entries.len() == self.size
    }

    /// The entries, the oldest first.
    pub fn entries(&self) -> &[SpacePage] {
        &self.entries
    }

    /// Forgets all entries: software has read them.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

/// FNV-1a with 64 bits over page numbers, 8 bytes each, the lowest first: tells recorded sequences apart.
///
/// It starts from 1469598103934665603, as the reference tables do, and not from the usual basis, which has
/// one more digit.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Fnv1a(u64);

impl Fnv1a {
    /// Before the first page.
    pub fn new() -> Self {
        Self(1_469_598_103_934_665_603)
    }

    /// Takes in a page.
    pub fn add(&mut self, page: SpacePage) {
        for byte in page.page.0.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    /// The hash of what was taken in.
    pub fn value(self) -> u64 {
        self.0
    }
}

impl Default for Fnv1a {
    fn default() -> Self {
        Self::new()
    }
}
