//! All that LIRS knows of a page, in one place.

use farside_trace::PageId;

use crate::replacement::Slot;

/// The orders that a page can be in: the stack and one of the others at once.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// S: from the oldest reference to the youngest.
    Stack,
    /// Q: resident pages of high recency, in the order in which they leave.
    Queue,
    /// Pages that left and are still in the stack, in the order in which they left; only if there is
    /// a bound for them, else nobody asks for the order. No page is in this and in the queue, so that
    /// they share their links.
    Ghosts,
}

use Order::{Ghosts, Queue, Stack};

/// What a page in the stack or in the queue is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Low inter-reference recency: stays. Always resident and in the stack.
    Low,
    /// High inter-reference recency, resident, in the queue.
    High,
    /// High inter-reference recency, not resident, in the stack.
    Ghost,
    /// No page at all: the slot is free.
    Free,
}

/// Stands for "in no order" in a link.
const UNLISTED: u32 = u32::MAX;

/// Entries that close the rings of the orders, and belong to no slot: stack and queue have the
/// first in common, each with its own links, and ghosts have the second.
const ENDS: usize = 2;

/// Most slots.
const MOST_SLOTS: usize = (UNLISTED as usize) - 256;

/// A page. Two of them fill a line of a processor's cache, and none lies in two lines.
#[derive(Copy, Clone, Debug)]
#[repr(align(32))]
struct Entry {
    page: PageId,
    /// For a free slot, `older` of the first is the next free one.
    links: [Link; 2],
    kind: Kind,
}

/// Places in [`Entries::entries`].
#[derive(Copy, Clone, Debug)]
struct Link {
    older: u32,
    younger: u32,
}

const UNLINKED: Link = Link { older: UNLISTED, younger: UNLISTED };

impl Order {
    /// Which links of an entry are for this order.
    const fn links(self) -> usize {
        match self {
            Stack => 0,
            Queue | Ghosts => 1,
        }
    }

    /// The place of the entry that closes the ring.
    const fn end(self) -> usize {
        match self {
            Stack | Queue => 0,
            Ghosts => 1,
        }
    }
}

/// Pages and the orders that they are in. Every operation takes constant time, and none allocates
/// within what was reserved.
#[derive(Clone, Debug)]
pub struct Entries {
    entries: Vec<Entry>,
    first_free: u32,
    lens: [usize; 3],
}

impl Entries {
    /// No page.
    pub fn new() -> Self {
        let ring = |place| Link { older: place, younger: place };
        let end = |place| Entry { page: PageId(0), links: [ring(place); 2], kind: Kind::Free };
        Self { entries: (0..ENDS as u32).map(end).collect(), first_free: UNLISTED, lens: [0; 3] }
    }

    /// Makes room for `slots` pages.
    pub fn reserve(&mut self, slots: usize) {
        let entries = slots.min(MOST_SLOTS) + ENDS;
        self.entries.reserve_exact(entries.saturating_sub(self.entries.len()));
    }

    const fn place(slot: Slot) -> usize {
        slot.0 as usize + ENDS
    }

    #[inline]
    fn entry(&self, slot: Slot) -> &Entry {
        &self.entries[Self::place(slot)]
    }

    /// Takes in a page that is in no order yet.
    ///
    /// # Panics
    /// When 2^32 - 257 slots are in use (16 TiB of pages).
    pub fn insert(&mut self, page: PageId, kind: Kind) -> Slot {
        let new = Entry { page, links: [UNLINKED; 2], kind };
        if let Some(entry) = self.entries.get_mut(self.first_free as usize) {
            let place = self.first_free;
            self.first_free = entry.links[0].older;
            *entry = new;
            return Slot(place - ENDS as u32);
        }
        assert!(self.entries.len() - ENDS < MOST_SLOTS, "more pages than slots");
        self.entries.push(new);
        Slot((self.entries.len() - 1 - ENDS) as u32)
    }

    /// Gives up a page, which is in no order any more.
    ///
    /// # Panics
    /// If the slot is not in use.
    pub fn release(&mut self, slot: Slot) -> PageId {
        let next = self.first_free;
        self.first_free = Self::place(slot) as u32;
        let entry = &mut self.entries[Self::place(slot)];
        assert!(entry.kind != Kind::Free, "slot {} is not in use", slot.0);
        entry.kind = Kind::Free;
        entry.links[0].older = next;
        entry.page
    }

    /// The page at `slot`, or `None` if the slot is not in use.
    #[inline]
    pub fn page(&self, slot: Slot) -> Option<PageId> {
        let entry = self.entries.get(Self::place(slot))?;
        (entry.kind != Kind::Free).then_some(entry.page)
    }

    /// What the page at `slot` is.
    #[inline]
    pub fn kind(&self, slot: Slot) -> Kind {
        self.entry(slot).kind
    }

    /// Says what the page at `slot` is.
    #[inline]
    pub fn set_kind(&mut self, slot: Slot, kind: Kind) {
        self.entries[Self::place(slot)].kind = kind;
    }

    /// Whether the page at `slot` is in the stack.
    #[inline]
    pub fn in_stack(&self, slot: Slot) -> bool {
        self.entry(slot).links[Stack.links()].older != UNLISTED
    }

    /// Puts the page at `slot`, which is not in `order`, at its young end.
    #[inline]
    pub fn push_youngest(&mut self, order: Order, slot: Slot) {
        let (place, links, end) = (Self::place(slot), order.links(), order.end());
        let older = self.entries[end].links[links].older;
        debug_assert!(self.entries[place].links[links].older == UNLISTED, "it is in an order");
        self.entries[place].links[links] = Link { older, younger: end as u32 };
        self.entries[older as usize].links[links].younger = place as u32;
        self.entries[end].links[links].older = place as u32;
        self.lens[order as usize] += 1;
    }

    /// Takes the page at `slot` out of `order`.
    ///
    /// # Panics
    /// If it is not in it.
    #[inline]
    pub fn remove(&mut self, order: Order, slot: Slot) {
        let links = order.links();
        let entry = &mut self.entries[Self::place(slot)];
        let Link { older, younger } = std::mem::replace(&mut entry.links[links], UNLINKED);
        self.entries[older as usize].links[links].younger = younger;
        self.entries[younger as usize].links[links].older = older;
        self.lens[order as usize] -= 1;
    }

    /// Puts the page at `slot` at the young end of `order`, in which it is.
    #[inline]
    pub fn make_youngest(&mut self, order: Order, slot: Slot) {
        let link = self.entry(slot).links[order.links()];
        if link.younger as usize != order.end() {
            self.remove(order, slot);
            self.push_youngest(order, slot);
        }
    }

    /// The page at the old end of `order`.
    #[inline]
    pub fn oldest(&self, order: Order) -> Option<Slot> {
        let place = self.entries[order.end()].links[order.links()].younger;
        (place as usize).checked_sub(ENDS).map(|slot| Slot(slot as u32))
    }

    /// Number of pages in `order`.
    pub const fn len(&self, order: Order) -> usize {
        self.lens[order as usize]
    }

    /// Asks for what there is about `slot`.
    #[inline]
    pub fn glance(&self, slot: Slot) {
        farside_glance::at(&self.entries, Self::place(slot));
    }

    /// Asks for what lies beside `slot` in the orders that it is in.
    #[inline]
    pub fn glance_beside(&self, slot: Slot) {
        let Some(entry) = self.entries.get(Self::place(slot)) else { return };
        for Link { older, younger } in entry.links {
            farside_glance::at(&self.entries, older as usize);
            farside_glance::at(&self.entries, younger as usize);
        }
    }
}

const _: () = assert!(size_of::<Entry>() == 32);
