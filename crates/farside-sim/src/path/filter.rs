//! The fully associative filter.

use super::SpacePage;

/// The most recently accessed pages, the latest first.
#[derive(Clone, Debug)]
pub struct AssociativeFilter {
    entries: Vec<SpacePage>,
    size: usize,
}

impl AssociativeFilter {
    /// A filter of `size` entries, none of them filled; one of 0 entries hides nothing.
    pub fn new(size: usize) -> Self {
        Self { entries: Vec::with_capacity(size), size }
    }

    /// Looks `page` up, and makes it the most recent; whether it was there.
    pub fn access(&mut self, page: SpacePage) -> bool {
        if self.entries.len() < self.size && !self.entries.contains(&page) {
            self.entries.insert(0, page);
            return false;
        }
        bring_to_front(&mut self.entries, page)
    }
}

/// Puts `page` first; what was before it, or all if it is new, moves on by one place, and the last entry
/// falls out. Whether it was there.
pub(super) fn bring_to_front(entries: &mut [SpacePage], page: SpacePage) -> bool {
    let found = entries.iter().position(|entry| *entry == page);
    let end = found.map_or(entries.len(), |at| at + 1);
    if end > 0 {
        entries[..end].rotate_right(1);
        entries[0] = page;
    }
    found.is_some()
}
