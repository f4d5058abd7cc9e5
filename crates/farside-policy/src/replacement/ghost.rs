//! Pages that left and are still remembered.

use std::collections::HashMap;

use farside_trace::PageId;
use rustc_hash::FxBuildHasher;

use super::Slot;
use super::list::{Lists, SlotPages};

/// `N` lists of evicted pages from oldest to youngest; a page is in at most one of them.
///
/// Every operation takes constant time; within what was reserved none allocates.
#[derive(Clone, Debug, Default)]
pub struct Ghosts<const N: usize> {
    pages: SlotPages,
    lists: Lists<N>,
    slots: HashMap<PageId, Slot, FxBuildHasher>,
}

impl<const N: usize> Ghosts<N> {
    /// Makes room for `pages` ghosts at once.
    pub fn reserve(&mut self, pages: usize) {
        self.pages.reserve(pages);
        self.lists.reserve(pages);
        // Twice as much as is used, so that the table never fills up with marks of what was deleted.
        self.slots.reserve((2 * pages).saturating_sub(self.slots.len()));
    }

    /// Remembers `page` as the youngest of `list`; one that is remembered already moves there.
    pub fn push_youngest(&mut self, list: usize, page: PageId) {
        let slot = match self.slots.get(&page) {
            Some(&slot) => {
                self.lists.remove(slot);
                slot
            }
            None => {
                let slot = self.pages.insert(page);
                self.slots.insert(page, slot);
                slot
            }
        };
        self.lists.push_youngest(list, slot);
    }

    /// Forgets `page`, and tells in which list it was.
    pub fn remove(&mut self, page: PageId) -> Option<usize> {
        let slot = self.slots.remove(&page)?;
        let list = self.lists.list_of(slot);
        self.lists.remove(slot);
        self.pages.release(slot);
        list
    }

    /// Forgets the oldest page of `list`.
    pub fn pop_oldest(&mut self, list: usize) -> Option<PageId> {
        let slot = self.lists.pop_oldest(list)?;
        let page = self.pages.release(slot);
        self.slots.remove(&page);
        Some(page)
    }

    /// Number of pages in `list`.
    pub fn len(&self, list: usize) -> usize {
        self.lists.len(list)
    }
}
