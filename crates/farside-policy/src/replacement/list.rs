//! Flat storage for resident pages: what policies are made of.
//!
//! [`SlotPages`] hands out slots, [`Lists`] orders them. Links are indices into one array, so every
//! operation takes constant time, and none allocates within what was reserved. A policy that needs a
//! page in two orders at once keeps two [`Lists`].

use farside_trace::PageId;

use super::Slot;

/// Stands for "no slot" in a link.
const NONE: u32 = u32::MAX;

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
        let pages = pages.min(NONE as usize);
        self.entries.reserve_exact(pages.saturating_sub(self.entries.len()));
    }

    /// Puts `page` in a free slot.
    ///
    /// # Panics
    /// When 2^32 - 1 slots are in use (16 TiB of resident pages).
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
        assert!(self.entries.len() < NONE as usize, "more resident pages than slots");
        self.entries.push(Entry::Page(page));
        Slot((self.entries.len() - 1) as u32)
    }

    /// The page at `slot`, or `None` if the slot is not in use.
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
#[derive(Clone, Debug)]
pub struct Lists<const N: usize> {
    links: Vec<Link>,
    ends: [Ends; N],
}

#[derive(Copy, Clone, Debug)]
struct Link {
    older: u32,
    younger: u32,
    list: u8,
}

#[derive(Copy, Clone, Debug)]
struct Ends {
    oldest: u32,
    youngest: u32,
    len: usize,
}

impl<const N: usize> Lists<N> {
    /// Empty lists.
    pub const fn new() -> Self {
        const { assert!(N < UNLISTED as usize, "a list is named in one byte") };
        Self { links: Vec::new(), ends: [Ends { oldest: NONE, youngest: NONE, len: 0 }; N] }
    }

    /// Makes room for the slots below `slots`.
    pub fn reserve(&mut self, slots: usize) {
        let slots = slots.min(NONE as usize);
        self.links.reserve_exact(slots.saturating_sub(self.links.len()));
    }

    /// Makes sure that there is a link for `slot`, and that it is in no list.
    #[track_caller]
    fn unlisted(&mut self, slot: Slot) -> usize {
        assert!(self.list_of(slot).is_none(), "slot {} is already in a list", slot.0);
        let index = slot.0 as usize;
        if index >= self.links.len() {
            let unlisted = Link { older: NONE, younger: NONE, list: UNLISTED };
            self.links.resize(index + 1, unlisted);
        }
        index
    }

    /// Puts `slot` at the young end of `list`.
    ///
    /// # Panics
    /// If the slot is in a list, or there is no such list.
    #[track_caller]
    pub fn push_youngest(&mut self, list: usize, slot: Slot) {
        let index = self.unlisted(slot);
        let ends = &mut self.ends[list];
        let older = std::mem::replace(&mut ends.youngest, slot.0);
        ends.len += 1;
        self.links[index] = Link { older, younger: NONE, list: list as u8 };
        match self.links.get_mut(older as usize) {
            Some(link) => link.younger = slot.0,
            None => ends.oldest = slot.0,
        }
    }

    /// Puts `slot` at the old end of `list`.
    ///
    /// # Panics
    /// If the slot is in a list, or there is no such list.
    #[track_caller]
    pub fn push_oldest(&mut self, list: usize, slot: Slot) {
        let index = self.unlisted(slot);
        let ends = &mut self.ends[list];
        let younger = std::mem::replace(&mut ends.oldest, slot.0);
        ends.len += 1;
        self.links[index] = Link { older: NONE, younger, list: list as u8 };
        match self.links.get_mut(younger as usize) {
            Some(link) => link.older = slot.0,
            None => ends.youngest = slot.0,
        }
    }

    /// Puts `slot` in the place of `listed`, which is in no list afterwards.
    ///
    /// # Panics
    /// If `slot` is in a list, or `listed` in none.
    #[track_caller]
    pub fn replace(&mut self, listed: Slot, slot: Slot) {
        let Some(list) = self.list_of(listed) else { panic!("slot {} is in no list", listed.0) };
        let index = self.unlisted(slot);
        let link = self.links[listed.0 as usize];
        self.links[index] = link;
        self.links[listed.0 as usize].list = UNLISTED;
        match self.links.get_mut(link.older as usize) {
            Some(older) => older.younger = slot.0,
            None => self.ends[list].oldest = slot.0,
        }
        match self.links.get_mut(link.younger as usize) {
            Some(younger) => younger.older = slot.0,
            None => self.ends[list].youngest = slot.0,
        }
    }

    /// Takes `slot` out of the list it is in.
    ///
    /// # Panics
    /// If the slot is in no list.
    #[track_caller]
    pub fn remove(&mut self, slot: Slot) {
        let Some(list) = self.list_of(slot) else { panic!("slot {} is in no list", slot.0) };
        let link = &mut self.links[slot.0 as usize];
        link.list = UNLISTED;
        let Link { older, younger, .. } = *link;
        let ends = &mut self.ends[list];
        ends.len -= 1;
        match self.links.get_mut(older as usize) {
            Some(link) => link.younger = younger,
            None => ends.oldest = younger,
        }
        match self.links.get_mut(younger as usize) {
            Some(link) => link.older = older,
            None => ends.youngest = older,
        }
    }

    /// Puts `slot` at the young end of the list it is in.
    ///
    /// # Panics
    /// If the slot is in no list.
    #[track_caller]
    pub fn make_youngest(&mut self, slot: Slot) {
        let Some(list) = self.list_of(slot) else { panic!("slot {} is in no list", slot.0) };
        if self.ends[list].youngest != slot.0 {
            self.remove(slot);
            self.push_youngest(list, slot);
        }
    }

    /// Takes the oldest slot out of `list`; `None` if the list is empty.
    pub fn pop_oldest(&mut self, list: usize) -> Option<Slot> {
        let slot = self.oldest(list)?;
        self.remove(slot);
        Some(slot)
    }

    /// The oldest slot in `list`.
    pub fn oldest(&self, list: usize) -> Option<Slot> {
        let oldest = self.ends[list].oldest;
        (oldest != NONE).then_some(Slot(oldest))
    }

    /// The youngest slot in `list`.
    pub fn youngest(&self, list: usize) -> Option<Slot> {
        let youngest = self.ends[list].youngest;
        (youngest != NONE).then_some(Slot(youngest))
    }

    /// The slot that is next younger than `slot` in the list it is in.
    pub fn younger(&self, slot: Slot) -> Option<Slot> {
        self.list_of(slot)?;
        let younger = self.links[slot.0 as usize].younger;
        (younger != NONE).then_some(Slot(younger))
    }

    /// Looks at the neighbours of `slot`, so that they are near when it is moved; the answer means nothing.
    #[inline]
    pub fn glance(&self, slot: Slot) -> u32 {
        let Some(link) = self.links.get(slot.0 as usize) else { return 0 };
        let list = |slot: u32| self.links.get(slot as usize).map_or(0, |link| link.list);
        u32::from(list(link.older) ^ list(link.younger))
    }

    /// The list that `slot` is in.
    pub fn list_of(&self, slot: Slot) -> Option<usize> {
        let list = self.links.get(slot.0 as usize)?.list;
        (list != UNLISTED).then_some(list as usize)
    }

    /// Number of slots in `list`.
    pub const fn len(&self, list: usize) -> usize {
        self.ends[list].len
    }

    /// Whether `list` holds no slot.
    pub const fn is_empty(&self, list: usize) -> bool {
        self.ends[list].len == 0
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
