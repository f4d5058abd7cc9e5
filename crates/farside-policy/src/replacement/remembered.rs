//! Pages that left and are still remembered, found again when they come back.

use farside_trace::PageId;

use super::Slot;
use super::page_index::PageIndex;

/// Where remembered pages are: in an index, or as the caller tells.
#[derive(Clone, Debug)]
pub enum Remembered {
    /// Each page is looked for.
    Indexed(PageIndex),
    /// The caller tells, of every page that comes back, the slot it had.
    Hinted(Option<(PageId, Slot)>),
}

impl Remembered {
    /// None, to be looked for.
    pub fn new() -> Self {
        Self::Indexed(PageIndex::new())
    }

    /// Relies on hints from now on; no page is remembered yet.
    pub fn rely_on_hints(&mut self) {
        *self = Self::Hinted(None);
    }

    /// `page`, which comes back next, had `slot` when it left.
    #[inline]
    pub fn hint(&mut self, page: PageId, slot: Slot) {
        if let Self::Hinted(hint) = self {
            *hint = Some((page, slot));
        }
    }

    /// Makes room for so many pages.
    pub fn reserve(&mut self, pages: usize) {
        if let Self::Indexed(index) = self {
            index.reserve(pages);
        }
    }

    /// Remembers `page`, which left and keeps `slot`.
    #[inline]
    pub fn insert(&mut self, page: PageId, slot: Slot) {
        if let Self::Indexed(index) = self {
            index.insert(page, slot);
        }
    }

    /// The slot of a page that comes back, if it is remembered; it is not any more. `page_at` tells
    /// which page a slot has.
    #[inline]
    pub fn recall(
        &mut self,
        page: PageId,
        page_at: impl Fn(Slot) -> Option<PageId>,
    ) -> Option<Slot> {
        match self {
            Self::Indexed(index) => index.remove(page, page_at),
            Self::Hinted(hint) => {
                let (hinted, slot) = hint.take()?;
                // The slot may be another page's by now.
                (hinted == page && page_at(slot) == Some(page)).then_some(slot)
            }
        }
    }

    /// Forgets `page`, which is or was at `slot`, if it is remembered.
    #[inline]
    pub fn forget(&mut self, page: PageId, slot: Slot) {
        if let Self::Indexed(index) = self {
            index.remove_slot(page, slot);
        }
    }
}

impl Default for Remembered {
    fn default() -> Self {
        Self::new()
    }
}
