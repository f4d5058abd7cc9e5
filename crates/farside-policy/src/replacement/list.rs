//! Flat storage for resident pages: what policies are made of.
//!
//! [`SlotPages`] hands out slots, [`Lists`] orders them. Links are indices into one array, so every
//! operation takes constant time, and none allocates within what was reserved. A policy that needs a
//! page in two orders at once keeps two [`Lists`].

use farside_trace::PageId;

use super::Slot;

/// Stands for "no slot" in a link.
const NONE: u32 = u32::MAX;

/// Most slots: a link is named in 32 bits, and the lists have links of their own.
const MOST_SLOTS: usize = (u32::MAX - 255) as usize;

/// Stands for "in no list" in a link.
const UNLISTED: u8 = u8::MAX;

/// The page at each slot in use. Slots given back are handed out again, the last one first.
#[derive(Clone, Debug)]
pub struct SlotPages {
    entries: Vec<Entry>,
    first_free: u32,
    used: usize,
}

#[derive(Copy, Clone, Debug)]
enum Entry {
    Page(PageId),
    Free { next: u32 },
}

impl SlotPages {
    /// No slot in use.
    pub const fn new() -> Self {
        Self { entries: Vec::new(), first_free: NONE, used: 0 }
    }

    /// Makes room for `pages` slots in use at once.
    pub fn reserve(&mut self, pages: usize) {
        let pages = pages.min(MOST_SLOTS);
        self.entries.reserve_exact(pages.saturating_sub(self.entries.len()));
    }

    /// Puts `page` in a free slot.
    ///
    /// # Panics
    /// When 2^32 - 256 slots are in use (16 TiB of resident pages).
    #[inline]
    pub fn insert(&mut self, page: PageId) -> Slot {
        self.used += 1;
        if let Some(entry) = self.entries.get_mut(self.first_free as usize) {
            let slot = Slot(self.first_free);
            if let Entry::Free { next } = *entry {
                self.first_free = next;
            }
            *entry = Entry::Page(page);
            return slot;
        }
        assert!(self.entries.len() < MOST_SLOTS, "more resident pages than slots");
        self.entries.push(Entry::Page(page));
        Slot((self.entries.len() - 1) as u32)
    }

    /// The page at `slot`, or `None` if the slot is not in use.
    #[inline]
    pub fn get(&self, slot: Slot) -> Option<PageId> {
        match self.entries.get(slot.0 as usize) {
            Some(&Entry::Page(page)) => Some(page),
            _ => None,
        }
    }

    /// Gives `slot` back and tells which page was there.
    ///
    /// # Panics
    /// If the slot is not in use.
    #[inline]
    #[track_caller]
    pub fn release(&mut self, slot: Slot) -> PageId {
        let Some(page) = self.get(slot) else { panic!("slot {} is not in use", slot.0) };
        self.entries[slot.0 as usize] = Entry::Free { next: self.first_free };
        self.first_free = slot.0;
        self.used -= 1;
        page
    }

    /// Number of slots in use.
    pub const fn len(&self) -> usize {
        self.used
    }

    /// Whether no slot is in use.
    pub const fn is_empty(&self) -> bool {
        self.used == 0
    }
}

impl Default for SlotPages {
    fn default() -> Self {
        Self::new()
    }
}

/// `N` lists of slots from oldest to youngest; a slot is in at most one of them.
///
/// Each list is a ring that a link of its own closes, so that no operation has to look for an end. Those
/// links come first, then those of the slots.
#[derive(Clone, Debug)]
pub struct Lists<const N: usize> {
    links: Vec<Link>,
    lens: [usize; N],
}

/// Places in [`Lists::links`].
#[derive(Copy, Clone, Debug)]
struct Link {
    older: u32,
    younger: u32,
    list: u8,
}

impl<const N: usize> Lists<N> {
    /// Empty lists.
    pub fn new() -> Self {
        const { assert!(N < UNLISTED as usize, "a list is named in one byte") };
        let ring = |list| Link { older: list as u32, younger: list as u32, list: UNLISTED };
        Self { links: (0..N).map(ring).collect(), lens: [0; N] }
    }

    /// Makes room for the slots below `slots`.
    pub fn reserve(&mut self, slots: usize) {
        let links = slots.min(MOST_SLOTS) + N;
        self.links.reserve_exact(links.saturating_sub(self.links.len()));
    }

    /// The place of the link of `slot`.
    #[inline]
    const fn place(slot: Slot) -> usize {
        slot.0 as usize + N
    }

    /// The slot whose link is at `place`; `None` for one that closes a ring.
    #[inline]
    const fn slot_at(place: u32) -> Option<Slot> {
        if (place as usize) < N { None } else { Some(Slot(place - N as u32)) }
    }

    /// Makes sure that there is a link for `slot`, and that it is in no list.
    #[inline]
    #[track_caller]
    fn unlisted(&mut self, slot: Slot) -> usize {
        let place = Self::place(slot);
        match self.links.get(place) {
            Some(link) => assert!(link.list == UNLISTED, "slot {} is already in a list", slot.0),
            None => {
                let unlisted = Link { older: NONE, younger: NONE, list: UNLISTED };
                self.links.resize(place + 1, unlisted);
            }
        }
        place
    }

    /// Puts the link at `place` between two that are neighbours in `list`.
    #[inline]
    fn link(&mut self, list: usize, older: u32, place: usize, younger: u32) {
        self.links[place] = Link { older, younger, list: list as u8 };
        self.links[older as usize].younger = place as u32;
        self.links[younger as usize].older = place as u32;
    }

    /// Puts `slot` at the young end of `list`.
    ///
    /// # Panics
    /// If the slot is in a list, or there is no such list.
    #[inline]
    #[track_caller]
    pub fn push_youngest(&mut self, list: usize, slot: Slot) {
        let place = self.unlisted(slot);
        self.lens[list] += 1;
        self.link(list, self.links[list].older, place, list as u32);
    }

    /// Puts `slot` at the old end of `list`.
    ///
    /// # Panics
    /// If the slot is in a list, or there is no such list.
    #[inline]
    #[track_caller]
    pub fn push_oldest(&mut self, list: usize, slot: Slot) {
        let place = self.unlisted(slot);
        self.lens[list] += 1;
        self.link(list, list as u32, place, self.links[list].younger);
    }

    /// Puts `slot` in the place of `listed`, which is in no list afterwards.
    ///
    /// # Panics
    /// If `slot` is in a list, or `listed` in none.
    #[track_caller]
    pub fn replace(&mut self, listed: Slot, slot: Slot) {
        let Some(list) = self.list_of(listed) else { panic!("slot {} is in no list", listed.0) };
        let place = self.unlisted(slot);
        let Link { older, younger, .. } = self.links[Self::place(listed)];
        self.links[Self::place(listed)].list = UNLISTED;
        self.link(list, older, place, younger);
    }

    /// Takes `slot` out of the list it is in.
    ///
    /// # Panics
    /// If the slot is in no list.
    #[inline]
    #[track_caller]
    pub fn remove(&mut self, slot: Slot) {
        let Some(list) = self.list_of(slot) else { panic!("slot {} is in no list", slot.0) };
        let link = &mut self.links[Self::place(slot)];
        link.list = UNLISTED;
        let Link { older, younger, .. } = *link;
        self.lens[list] -= 1;
        self.links[older as usize].younger = younger;
        self.links[younger as usize].older = older;
    }

    /// Puts `slot` at the young end of the list it is in.
    ///
    /// # Panics
    /// If the slot is in no list.
    #[inline]
    #[track_caller]
    pub fn make_youngest(&mut self, slot: Slot) {
        let Some(list) = self.list_of(slot) else { panic!("slot {} is in no list", slot.0) };
        let place = Self::place(slot);
        let Link { older, younger, .. } = self.links[place];
        if younger as usize == list {
            return;
        }
        self.links[older as usize].younger = younger;
        self.links[younger as usize].older = older;
        self.link(list, self.links[list].older, place, list as u32);
    }

    /// Takes the oldest slot out of `list`; `None` if the list is empty.
    #[inline]
    pub fn pop_oldest(&mut self, list: usize) -> Option<Slot> {
        let slot = self.oldest(list)?;
        self.remove(slot);
        Some(slot)
    }

    /// The oldest slot in `list`.
    #[inline]
    pub fn oldest(&self, list: usize) -> Option<Slot> {
        assert!(list < N, "there is no list {list}");
        Self::slot_at(self.links[list].younger)
    }

    /// The youngest slot in `list`.
    #[inline]
    pub fn youngest(&self, list: usize) -> Option<Slot> {
        assert!(list < N, "there is no list {list}");
        Self::slot_at(self.links[list].older)
    }

    /// The slot that is next younger than `slot` in the list it is in.
    #[inline]
    pub fn younger(&self, slot: Slot) -> Option<Slot> {
        self.list_of(slot)?;
        Self::slot_at(self.links[Self::place(slot)].younger)
    }

    /// Asks for the link of `slot`.
    #[inline]
    pub fn glance(&self, slot: Slot) {
        farside_glance::at(&self.links, Self::place(slot));
    }

    /// Asks for the links that moving `slot` will change.
    #[inline]
    pub fn glance_beside(&self, slot: Slot) {
        if let Some(link) = self.links.get(Self::place(slot)) {
            farside_glance::at(&self.links, link.older as usize);
            farside_glance::at(&self.links, link.younger as usize);
        }
    }

    /// The list that `slot` is in.
    #[inline]
    pub fn list_of(&self, slot: Slot) -> Option<usize> {
        let list = self.links.get(Self::place(slot))?.list;
        (list != UNLISTED).then_some(list as usize)
    }

    /// Number of slots in `list`.
    pub const fn len(&self, list: usize) -> usize {
        self.lens[list]
    }

    /// Whether `list` holds no slot.
    pub const fn is_empty(&self, list: usize) -> bool {
        self.lens[list] == 0
    }

    /// The slots in `list`, oldest first.
    pub fn iter(&self, list: usize) -> impl Iterator<Item = Slot> + '_ {
        std::iter::successors(self.oldest(list), |slot| self.younger(*slot))
    }
}

impl<const N: usize> Default for Lists<N> {
    fn default() -> Self {
        Self::new()
    }
}
