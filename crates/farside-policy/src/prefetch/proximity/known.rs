//! The pages that the graph knows, in the order of their last accesses.

use farside_trace::PageId;

use crate::replacement::Slot;

/// Bits of a slot.
pub(super) const SLOT_BITS: u32 = 22;

/// Stands for "no slot".
pub(super) const NONE: u32 = (1 << SLOT_BITS) - 1;

/// Most pages that can be known.
pub(super) const MOST_KNOWN: usize = NONE as usize;

/// Neighbouring pages whose buckets lie side by side.
const TOGETHER: u64 = 16;

/// Spreads groups of neighbouring pages over the buckets (the golden ratio, in 64 bits).
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Some bits of a word of a [`Node`].
#[derive(Copy, Clone)]
struct Field {
    word: usize,
    from: u32,
    bits: u32,
}

impl Field {
    const fn first(word: usize, bits: u32) -> Self {
        Self { word, from: 0, bits }
    }

    const fn after(before: Self, bits: u32) -> Self {
        Self { word: before.word, from: before.from + before.bits, bits }
    }

    const fn is_last(self) -> bool {
        self.from + self.bits == u64::BITS
    }
}

const PAGE: Field = Field::first(0, 37);
const NEXT: Field = Field::after(PAGE, SLOT_BITS);
const AWAITED: Field = Field::after(NEXT, 2);
const ASSUMED: Field = Field::after(AWAITED, 1);
const BY_HIGH: Field = Field::after(ASSUMED, 2);
const OLDER: Field = Field::first(1, SLOT_BITS);
const YOUNGER: Field = Field::after(OLDER, SLOT_BITS);
const BY_LOW: Field = Field::after(YOUNGER, SLOT_BITS - BY_HIGH.bits);
const _: () = assert!(BY_HIGH.is_last() && BY_LOW.is_last());

/// What came of a page since it was asked for.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Awaited {
    /// It was not asked for, or its fate is known.
    #[default]
    No,
    /// It was asked for.
    Yes,
    /// It was asked for among the last of a walk: when it is used, it is time for those that follow.
    Leads,
}

/// A page, the pages accessed just before and after it, the next one in its bucket, and what is to be noted of it.
#[derive(Copy, Clone, Debug)]
pub(super) struct Node([u64; 2]);

impl Node {
    fn new(page: PageId) -> Self {
        let mut new = Self([0; 2]);
        new.put(PAGE, page.0);
        [OLDER, YOUNGER, NEXT].into_iter().for_each(|field| new.put(field, u64::from(NONE)));
        new
    }

    const fn get(self, field: Field) -> u64 {
        self.0[field.word] >> field.from & ((1 << field.bits) - 1)
    }

    const fn put(&mut self, field: Field, value: u64) {
        let mask = (1 << field.bits) - 1;
        debug_assert!(value <= mask, "a value that has no room");
        self.0[field.word] = self.0[field.word] & !(mask << field.from) | value << field.from;
    }
}

/// Pages by slot and slots by page, and a list of them from the one not accessed for longest.
///
/// A slot takes [a node](Node) and a bucket, 20 bytes in all. There are as many buckets as slots: with each slot that is
/// used for the first time one bucket is divided in two (linear hashing), so that neither is there a table for pages that
/// may come, nor does a page have to wait for a table to be made anew. What is known is bounded, and nothing is allocated
/// once it is made; memory is taken where slots are used for the first time.
#[derive(Clone, Debug)]
pub(super) struct Known {
    nodes: Vec<Node>,
    /// The first slot of each bucket.
    heads: Vec<u32>,
    most: usize,
    oldest: u32,
    youngest: u32,
}

impl Known {
    /// Bytes that are taken for each page.
    pub const EACH: usize = size_of::<Node>() + size_of::<u32>();

    /// Room for so many pages, at least one and at most [`MOST_KNOWN`].
    pub fn new(most: usize) -> Self {
        assert!((1..=MOST_KNOWN).contains(&most), "room for {most} pages");
        let (nodes, heads) = (Vec::with_capacity(most), Vec::with_capacity(most));
        Self { nodes, heads, most, oldest: NONE, youngest: NONE }
    }

    /// Whether a page can be known: its address has at most 49 bits.
    pub const fn can_be_known(page: PageId) -> bool {
        page.0 >> PAGE.bits == 0
    }

    /// Pages that are known.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The page at a slot in use.
    pub fn page(&self, slot: Slot) -> PageId {
        PageId(self.node(slot).get(PAGE))
    }

    /// Where a page is that is known.
    pub fn find(&self, page: PageId) -> Option<Slot> {
        if self.heads.is_empty() {
            return None;
        }
        let mut at = self.heads[self.bucket(page)];
        while at != NONE {
            let node = self.nodes[at as usize];
            if node.get(PAGE) == page.0 {
                return Some(Slot(at));
            }
            at = node.get(NEXT) as u32;
        }
        None
    }

    /// Adds a page that is not known, as the one accessed last; if there is no room, in the slot of the oldest.
    pub fn add(&mut self, page: PageId) -> Slot {
        let slot = if self.nodes.len() < self.most {
            let slot = self.nodes.len() as u32;
            self.nodes.push(Node::new(page));
            self.divide();
            slot
        } else {
            let slot = self.oldest;
            self.unlink(slot);
            self.leave_bucket(slot);
            self.nodes[slot as usize] = Node::new(page);
            slot
        };
        let bucket = self.bucket(page);
        let head = std::mem::replace(&mut self.heads[bucket], slot);
        self.set(slot, NEXT, head);
        self.link_youngest(slot);
        Slot(slot)
    }

    /// Makes a page the one accessed last.
    pub fn make_youngest(&mut self, slot: Slot) {
        if self.youngest != slot.0 {
            self.unlink(slot.0);
            self.link_youngest(slot.0);
        }
    }

    /// The page accessed next after the one at a slot, of those that were not accessed since.
    pub fn younger(&self, slot: Slot) -> Option<Slot> {
        let younger = self.node(slot).get(YOUNGER) as u32;
        (younger != NONE).then_some(Slot(younger))
    }

    /// Whether the latest access of a page is not known, but assumed.
    pub fn is_assumed(&self, slot: Slot) -> bool {
        self.node(slot).get(ASSUMED) != 0
    }

    /// Says so.
    pub fn assume(&mut self, slot: Slot, assumed: bool) {
        self.nodes[slot.0 as usize].put(ASSUMED, u64::from(assumed));
    }

    /// What is awaited of a page, and from which page the walk came to it.
    pub fn note(&self, slot: Slot) -> (Awaited, Slot) {
        let node = self.node(slot);
        let awaited = match node.get(AWAITED) {
            0 => Awaited::No,
            1 => Awaited::Yes,
            _ => Awaited::Leads,
        };
        (awaited, Slot((node.get(BY_HIGH) << BY_LOW.bits | node.get(BY_LOW)) as u32))
    }

    /// Notes that a page was asked for.
    pub fn set_note(&mut self, slot: Slot, awaited: Awaited, by: Slot) {
        self.set(slot.0, BY_LOW, by.0 & ((1 << BY_LOW.bits) - 1));
        self.set(slot.0, BY_HIGH, by.0 >> BY_LOW.bits);
        self.set_awaited(slot, awaited);
    }

    /// Notes what came of a page.
    pub fn set_awaited(&mut self, slot: Slot, awaited: Awaited) {
        self.nodes[slot.0 as usize].put(AWAITED, awaited as u64);
    }

    fn node(&self, slot: Slot) -> Node {
        self.nodes[slot.0 as usize]
    }

    fn set(&mut self, slot: u32, field: Field, other: u32) {
        self.nodes[slot as usize].put(field, u64::from(other));
    }

    fn link_youngest(&mut self, slot: u32) {
        let before = std::mem::replace(&mut self.youngest, slot);
        self.set(slot, OLDER, before);
        self.set(slot, YOUNGER, NONE);
        if before == NONE {
            self.oldest = slot;
        } else {
            self.set(before, YOUNGER, slot);
        }
    }

    fn unlink(&mut self, slot: u32) {
        let node = self.nodes[slot as usize];
        let (older, younger) = (node.get(OLDER) as u32, node.get(YOUNGER) as u32);
        if older == NONE {
            self.oldest = younger
        } else {
            self.set(older, YOUNGER, younger)
        }
        if younger == NONE { self.youngest = older } else { self.set(younger, OLDER, older) }
    }

    /// The bucket of a page.
    fn bucket(&self, page: PageId) -> usize {
        let (group, within) = (page.0 / TOGETHER, page.0 % TOGETHER);
        let hash = group.wrapping_mul(MULTIPLIER) >> 32 << TOGETHER.ilog2() | within;
        let size = self.heads.len().next_power_of_two();
        let bucket = hash as usize & (size - 1);
        // Those behind the last bucket have not been divided from theirs yet.
        if bucket < self.heads.len() { bucket } else { bucket - size / 2 }
    }

    /// Adds a bucket, to which some pages of another one belong from now on.
    fn divide(&mut self) {
        let new = self.heads.len();
        self.heads.push(NONE);
        if new == 0 {
            return;
        }
        let from = new - (new + 1).next_power_of_two() / 2;
        let mut at = std::mem::replace(&mut self.heads[from], NONE);
        while at != NONE {
            let node = self.nodes[at as usize];
            let bucket = self.bucket(PageId(node.get(PAGE)));
            let head = std::mem::replace(&mut self.heads[bucket], at);
            self.set(at, NEXT, head);
            at = node.get(NEXT) as u32;
        }
    }

    fn leave_bucket(&mut self, slot: u32) {
        let next = self.nodes[slot as usize].get(NEXT) as u32;
        let bucket = self.bucket(self.page(Slot(slot)));
        let mut at = self.heads[bucket];
        if at == slot {
            self.heads[bucket] = next;
            return;
        }
        while at != NONE {
            let after = self.nodes[at as usize].get(NEXT) as u32;
            if after == slot {
                return self.set(at, NEXT, next);
            }
            at = after;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Pages side by side, and pages far apart.
        #[test]
        fn pages_are_known_in_the_order_of_their_accesses(
            accesses in prop::collection::vec((0..60_u64, 0..3_u64), 0..600),
            most in 1..200_usize,
        ) {
            let (mut known, mut list) = (Known::new(most), Vec::new());
            for (within, far) in accesses {
                let page = PageId(within + (far << 35));
                let place = list.iter().position(|other| *other == page);
                let slot = known.find(page);
                prop_assert_eq!(slot.is_some(), place.is_some());
                if let (Some(slot), Some(place)) = (slot, place) {
                    known.make_youngest(slot);
                    list.remove(place);
                } else {
                    if list.len() == most {
                        list.remove(0);
                    }
                    let slot = known.add(page);
                    known.set_note(slot, Awaited::Leads, slot);
                    known.assume(slot, true);
                }
                list.push(page);
                prop_assert_eq!(known.len(), list.len());
            }
            let first = list.first().and_then(|page| known.find(*page));
            let slots = std::iter::successors(first, |slot| known.younger(*slot));
            let mut found = Vec::new();
            for slot in slots {
                found.push(known.page(slot));
                prop_assert_eq!(known.note(slot), (Awaited::Leads, slot));
                prop_assert!(known.is_assumed(slot));
            }
            prop_assert_eq!(found, list);
        }
    }
}
