//! Pages in lists, each page with its place in its list.

use farside_trace::PageId;

use super::Slot;

/// The page at a slot is in no list.
const UNLISTED: u8 = 254;

/// There is no page at a slot.
const FREE: u8 = 255;

/// Stands for "no slot" in a link.
const NONE: u32 = u32::MAX;

/// Most slots: a link is named in 32 bits, and the lists have links of their own.
const MOST_SLOTS: usize = (NONE as usize) - 256;

/// A page and its place; four of them fill a line of a processor's cache.
#[derive(Copy, Clone, Debug)]
struct Entry {
    page: PageId,
    /// Places in [`PageLists::entries`]; for a free slot the next free one.
    older: u32,
    younger: u32,
}

/// `N` lists of pages from oldest to youngest; a page is in at most one of them.
///
/// Each list is a ring that an entry of its own closes, so that no operation has to look for an end.
/// Those entries come first, then those of the slots. Every operation takes constant time, and none
/// allocates within what was reserved.
#[derive(Clone, Debug)]
pub struct PageLists<const N: usize> {
    entries: Vec<Entry>,
    /// The list that each entry is in. Apart from the entries, it fits a smaller cache than they do.
    lists: Vec<u8>,
    lens: [usize; N],
    first_free: u32,
}

impl<const N: usize> PageLists<N> {
    /// Empty lists.
    pub fn new() -> Self {
        const { assert!(N < UNLISTED as usize, "a list is named in one byte") };
        let ring =
            |list: usize| Entry { page: PageId(0), older: list as u32, younger: list as u32 };
        Self {
            entries: (0..N).map(ring).collect(),
            lists: vec![UNLISTED; N],
            lens: [0; N],
            first_free: NONE,
        }
    }

    /// Makes room for `slots` pages.
    pub fn reserve(&mut self, slots: usize) {
        let entries = slots.min(MOST_SLOTS) + N;
        self.entries.reserve_exact(entries.saturating_sub(self.entries.len()));
        self.lists.reserve_exact(entries.saturating_sub(self.lists.len()));
    }

    #[inline]
    const fn place(slot: Slot) -> usize {
        slot.0 as usize + N
    }

    /// Takes in a page as the youngest of `list`.
    ///
    /// # Panics
    /// When 2^32 - 257 slots are in use (16 TiB of pages), or there is no such list.
    pub fn admit(&mut self, page: PageId, list: usize) -> Slot {
        let place = self.first_free as usize;
        let slot = if let Some(entry) = self.entries.get_mut(place) {
            self.first_free = entry.older;
            entry.page = page;
            Slot((place - N) as u32)
        } else {
            assert!(self.entries.len() - N < MOST_SLOTS, "more pages than slots");
            self.entries.push(Entry { page, older: NONE, younger: NONE });
            self.lists.push(UNLISTED);
            Slot((self.entries.len() - 1 - N) as u32)
        };
        self.lists[Self::place(slot)] = UNLISTED;
        self.enlist(slot, list);
        slot
    }

    /// Puts the page at `slot`, which is in no list, at the young end of `list`.
    ///
    /// # Panics
    /// If it is in a list, or there is no such list.
    #[inline]
    #[track_caller]
    pub fn enlist(&mut self, slot: Slot, list: usize) {
        let place = Self::place(slot);
        assert!(self.lists[place] == UNLISTED, "slot {} is in a list or free", slot.0);
        self.lens[list] += 1;
        self.lists[place] = list as u8;
        self.link_youngest(place, list);
    }

    #[inline]
    fn link_youngest(&mut self, place: usize, list: usize) {
        let older = self.entries[list].older;
        let entry = &mut self.entries[place];
        (entry.older, entry.younger) = (older, list as u32);
        self.entries[older as usize].younger = place as u32;
        self.entries[list].older = place as u32;
    }

    #[inline]
    fn unlink(&mut self, place: usize) {
        let Entry { older, younger, .. } = self.entries[place];
        self.entries[older as usize].younger = younger;
        self.entries[younger as usize].older = older;
    }

    /// Takes the page at `slot` out of the list it is in.
    ///
    /// # Panics
    /// If it is in none.
    #[inline]
    #[track_caller]
    pub fn unlist(&mut self, slot: Slot) {
        let Some(list) = self.list_of(slot) else { panic!("slot {} is in no list", slot.0) };
        self.lens[list] -= 1;
        self.lists[Self::place(slot)] = UNLISTED;
        self.unlink(Self::place(slot));
    }

    /// Makes the page at `slot` the youngest of `list`, whichever list it is in.
    ///
    /// # Panics
    /// If it is in none, or there is no such list.
    #[inline]
    #[track_caller]
    pub fn move_to(&mut self, slot: Slot, list: usize) {
        let Some(from) = self.list_of(slot) else { panic!("slot {} is in no list", slot.0) };
        let place = Self::place(slot);
        if from == list && self.entries[place].younger as usize == list {
            return;
        }
        self.lens[from] -= 1;
        self.lens[list] += 1;
        self.lists[place] = list as u8;
        self.unlink(place);
        self.link_youngest(place, list);
    }

    /// Gives up the page at `slot`, which is in no list any more, and tells which it was.
    ///
    /// # Panics
    /// If it is in a list, or there is none.
    #[track_caller]
    pub fn release(&mut self, slot: Slot) -> PageId {
        let place = Self::place(slot);
        assert!(self.lists[place] == UNLISTED, "slot {} is in a list or free", slot.0);
        self.lists[place] = FREE;
        let entry = &mut self.entries[place];
        entry.older = self.first_free;
        self.first_free = place as u32;
        entry.page
    }

    /// The page at `slot`, or `None` if the slot is not in use.
    #[inline]
    pub fn page(&self, slot: Slot) -> Option<PageId> {
        let list = *self.lists.get(Self::place(slot))?;
        (list != FREE).then(|| self.entries[Self::place(slot)].page)
    }

    /// The list that the page at `slot` is in.
    #[inline]
    pub fn list_of(&self, slot: Slot) -> Option<usize> {
        let list = *self.lists.get(Self::place(slot))?;
        (list < UNLISTED).then_some(list as usize)
    }

    /// The oldest slot of `list`.
    #[inline]
    pub fn oldest(&self, list: usize) -> Option<Slot> {
        assert!(list < N, "there is no list {list}");
        let place = self.entries[list].younger as usize;
        place.checked_sub(N).map(|slot| Slot(slot as u32))
    }

    /// Number of pages in `list`.
    pub const fn len(&self, list: usize) -> usize {
        self.lens[list]
    }

    /// Asks for the place of `slot`.
    #[inline]
    pub fn glance(&self, slot: Slot) {
        farside_glance::at(&self.entries, Self::place(slot));
        farside_glance::at(&self.lists, Self::place(slot));
    }

    /// Asks for the places that moving `slot` will change.
    #[inline]
    pub fn glance_beside(&self, slot: Slot) {
        if let Some(entry) = self.entries.get(Self::place(slot)) {
            farside_glance::at(&self.entries, entry.older as usize);
            farside_glance::at(&self.entries, entry.younger as usize);
        }
    }
}

impl<const N: usize> Default for PageLists<N> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_lists_are_as_queues_would_be(
            operations in prop::collection::vec((0..5_u8, 0..12_usize, 0..3_usize), 0..300),
        ) {
            let mut lists = PageLists::<3>::new();
            let mut expected: [VecDeque<(Slot, u64)>; 3] = Default::default();
            let mut unlisted = Vec::new();
            for (number, (operation, which, list)) in (0..).zip(operations) {
                let listed: Vec<_> = expected.iter().flatten().copied().collect();
                let some = listed.get(which % listed.len().max(1)).copied();
                match (operation, some) {
                    (1, Some(some)) => {
                        lists.move_to(some.0, list);
                        expected.iter_mut().for_each(|queue| queue.retain(|other| *other != some));
                        expected[list].push_back(some);
                    }
                    (2, Some(some)) => {
                        lists.unlist(some.0);
                        expected.iter_mut().for_each(|queue| queue.retain(|other| *other != some));
                        unlisted.push(some);
                    }
                    (3, _) if !unlisted.is_empty() => {
                        let some = unlisted.swap_remove(which % unlisted.len());
                        lists.enlist(some.0, list);
                        expected[list].push_back(some);
                    }
                    (4, _) if !unlisted.is_empty() => {
                        let (slot, page) = unlisted.swap_remove(which % unlisted.len());
                        prop_assert_eq!(lists.release(slot), PageId(page));
                        prop_assert_eq!(lists.page(slot), None);
                    }
                    _ => expected[list].push_back((lists.admit(PageId(number), list), number)),
                }
                for (list, queue) in expected.iter().enumerate() {
                    prop_assert_eq!(lists.len(list), queue.len());
                    prop_assert_eq!(lists.oldest(list), queue.front().map(|some| some.0));
                    for (slot, page) in queue {
                        prop_assert_eq!(lists.list_of(*slot), Some(list));
                        prop_assert_eq!(lists.page(*slot), Some(PageId(*page)));
                    }
                }
            }
            for (list, queue) in expected.iter().enumerate() {
                for (slot, page) in queue {
                    prop_assert_eq!(lists.oldest(list), Some(*slot));
                    lists.unlist(*slot);
                    prop_assert_eq!(lists.release(*slot), PageId(*page));
                }
                prop_assert_eq!(lists.oldest(list), None);
            }
        }
    }
}
