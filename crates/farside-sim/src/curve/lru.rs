//! The exact LRU curve in one pass.

use farside_trace::PageId;
use farside_tracking::{NO_SLOT, OrderedSlots};

use super::Distances;
use crate::page_map::{NONE, PageMap};

/// Fewest slots: little traces need no compaction.
const LEAST_SLOTS: usize = 1 << 16;

/// Slots for each page when they are numbered anew: a byte a page, and little time for numbering.
const ROOM: usize = 8;

/// Most slots when they are numbered anew: far fewer than there are numbers for.
const MOST_SLOTS: usize = 1 << 31;

/// References that are counted together.
const TOGETHER: usize = 64;

/// LRU stack distances (Mattson and others, 1970): the number of different pages referenced since the
/// last reference to the same page, that page included.
///
/// Each page has a slot, which stands for the time of its last reference; the distance is the number of
/// live slots behind it. When the slots are used up the dead ones are taken out.
#[derive(Clone, Debug)]
pub struct LruDistances {
    slots: PageMap,
    order: OrderedSlots,
    next: usize,
    pages: usize,
    distances: Distances,
    /// For the references that are counted together: the slots that their pages had, and what is behind
    /// those.
    before: Vec<u32>,
    behind: Vec<u32>,
}

impl LruDistances {
    /// Before the first reference.
    pub fn new() -> Self {
        Self {
            slots: PageMap::new(),
            order: OrderedSlots::new(LEAST_SLOTS),
            next: 0,
            pages: 0,
            distances: Distances::default(),
            before: Vec::with_capacity(TOGETHER),
            behind: Vec::with_capacity(TOGETHER),
        }
    }

    /// Counts references in order.
    ///
    /// Many together are first given their slots, then ranked, and then counted: a processor waits for
    /// many places in memory no longer than for one, if none of them depends on what was there before.
    /// The slots of the next ones are asked for ahead.
    pub fn references(&mut self, pages: &[PageId]) {
        for (number, together) in pages.chunks(TOGETHER).enumerate() {
            let later = pages.iter().skip((number + 1) * TOGETHER).take(TOGETHER);
            later.for_each(|page| self.slots.glance(*page));
            self.together(together);
        }
    }

    fn together(&mut self, pages: &[PageId]) {
        self.make_room(pages.len());
        let first = self.next;
        self.before.clear();
        self.behind.clear();
        for page in pages {
            match self.take_slot(*page) {
                Taken::Newest => self.distances.add(1),
                Taken::First => self.before.push(NO_SLOT),
                Taken::Instead(old) => self.before.push(old),
            }
        }
        self.order.renew(&self.before, first, &mut self.behind);
        self.distances.add_behind(&self.behind);
    }

    /// Counts a reference to `page`, and returns its distance; `None` for the first one to it.
    pub fn reference(&mut self, page: PageId) -> Option<usize> {
        self.make_room(1);
        let slot = self.next;
        let distance = match self.take_slot(page) {
            Taken::Newest => Some(1),
            Taken::First => {
                self.order.revive(slot);
                None
            }
            Taken::Instead(old) => {
                let behind = self.order.live_behind(old as usize);
                self.order.kill(old as usize);
                self.order.revive(slot);
                Some(behind + 1)
            }
        };
        if let Some(distance) = distance {
            self.distances.add(distance);
        }
        distance
    }

    /// Gives `page` the next slot, unless it has the last one that was given.
    #[inline]
    fn take_slot(&mut self, page: PageId) -> Taken {
        let place = self.slots.entry(page);
        let before = *place;
        if before == NONE {
            self.pages += 1;
            self.distances.add_cold();
        } else if before as usize + 1 == self.next {
            return Taken::Newest;
        }
        *place = self.next as u32;
        self.next += 1;
        if before == NONE { Taken::First } else { Taken::Instead(before) }
    }

    /// What was counted.
    pub fn distances(&self) -> &Distances {
        &self.distances
    }

    /// What was counted; what was needed for counting is given back.
    pub fn into_distances(self) -> Distances {
        self.distances
    }

    /// Sees to it that there are so many slots more.
    #[inline]
    fn make_room(&mut self, slots: usize) {
        if self.next + slots > self.order.len() {
            self.compact();
        }
    }

    /// Numbers the live slots anew, with room behind them.
    #[cold]
    fn compact(&mut self) {
        let rank = self.order.ranks();
        for slot in self.slots.values_mut().filter(|slot| **slot != NONE) {
            *slot = rank(*slot as usize) as u32;
        }
        drop(rank);
        let slots = (ROOM * self.pages).clamp(LEAST_SLOTS, MOST_SLOTS);
        self.order = OrderedSlots::with_live(self.pages, slots);
        self.next = self.pages;
    }
}

/// The slot that a page had when it was given the next one.
enum Taken {
    /// The last one that was given, which it keeps: the same page again.
    Newest,
    /// None: the first reference to it.
    First,
    /// This one.
    Instead(u32),
}

impl Default for LruDistances {
    fn default() -> Self {
        Self::new()
    }
}
