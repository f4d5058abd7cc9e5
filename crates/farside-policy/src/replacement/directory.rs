//! Pages that are resident, and pages that left and are still remembered.

use farside_trace::PageId;

use super::Slot;
use super::page_lists::PageLists;
use super::remembered::Remembered;

/// `N` lists of pages from oldest to youngest, some for resident pages and some for remembered ones; the
/// policy knows which. A page keeps its slot when it leaves.
///
/// Every operation takes constant time; within what was reserved none allocates.
#[derive(Clone, Debug, Default)]
pub struct Directory<const N: usize> {
    lists: PageLists<N>,
    remembered: Remembered,
}

impl<const N: usize> Directory<N> {
    /// Makes room for so many pages, resident and remembered ones.
    pub fn reserve(&mut self, resident: usize, remembered: usize) {
        self.lists.reserve(resident.saturating_add(remembered));
        self.remembered.reserve(remembered);
    }

    /// As [`ReplacementPolicy::rely_on_hints`](super::ReplacementPolicy::rely_on_hints).
    pub fn rely_on_hints(&mut self) {
        self.remembered.rely_on_hints();
    }

    /// As [`ReplacementPolicy::hint`](super::ReplacementPolicy::hint).
    #[inline]
    pub fn hint(&mut self, page: PageId, slot: Slot) {
        self.remembered.hint(page, slot);
    }

    /// Takes in a resident page as the youngest of `list`.
    pub fn admit(&mut self, page: PageId, list: usize) -> Slot {
        self.lists.admit(page, list)
    }

    /// Makes `slot` the youngest of `list`, whichever list it is in.
    #[inline]
    pub fn move_to(&mut self, slot: Slot, list: usize) {
        self.lists.move_to(slot, list);
    }

    /// Remembers the resident page at `slot` as the youngest of `list`.
    pub fn retire(&mut self, slot: Slot, list: usize) -> Option<PageId> {
        let page = self.lists.page(slot)?;
        self.lists.move_to(slot, list);
        self.remembered.insert(page, slot);
        Some(page)
    }

    /// Finds a remembered page: the list it was in, and its slot, which is in no list now. The slot goes
    /// back into one by [`readmit`](Self::readmit), or is given up by [`discard`](Self::discard).
    pub fn recall(&mut self, page: PageId) -> Option<(Slot, usize)> {
        let slot = self.remembered.recall(page, |slot| self.lists.page(slot))?;
        let list = self.lists.list_of(slot)?;
        self.lists.unlist(slot);
        Some((slot, list))
    }

    /// Makes a slot in no list the youngest of `list`.
    pub fn readmit(&mut self, slot: Slot, list: usize) {
        self.lists.enlist(slot, list);
    }

    /// Gives up a slot in no list.
    pub fn discard(&mut self, slot: Slot) {
        self.lists.release(slot);
    }

    /// As [`ReplacementPolicy::glance`](super::ReplacementPolicy::glance).
    #[inline]
    pub fn glance(&self, slot: Slot) {
        self.lists.glance(slot);
    }

    /// As [`ReplacementPolicy::glance_beside`](super::ReplacementPolicy::glance_beside).
    #[inline]
    pub fn glance_beside(&self, slot: Slot) {
        self.lists.glance_beside(slot);
    }

    /// Forgets the oldest page of a list of remembered ones; whether there was any.
    pub fn forget_oldest(&mut self, list: usize) -> bool {
        let Some(slot) = self.lists.oldest(list) else { return false };
        let page = self.release(slot);
        self.remembered.forget(page, slot);
        true
    }

    /// Lets a resident page go.
    pub fn release(&mut self, slot: Slot) -> PageId {
        self.lists.unlist(slot);
        self.lists.release(slot)
    }

    /// The oldest slot of `list`.
    pub fn oldest(&self, list: usize) -> Option<Slot> {
        self.lists.oldest(list)
    }

    /// The page at `slot`, if it is in use.
    pub fn page(&self, slot: Slot) -> Option<PageId> {
        self.lists.page(slot)
    }

    /// The list that `slot` is in.
    #[inline]
    pub fn list_of(&self, slot: Slot) -> Option<usize> {
        self.lists.list_of(slot)
    }

    /// Number of pages in `list`.
    pub const fn len(&self, list: usize) -> usize {
        self.lists.len(list)
    }
}
