//! The exact LRU curve in one pass.

use std::hint::black_box;

use farside_trace::PageId;
use farside_tracking::OrderedSlots;

use super::Distances;
use crate::page_map::{NONE, PageMap};

/// Fewest slots: little traces need no compaction.
const LEAST_SLOTS: usize = 1 << 16;

/// References that are looked at ahead.
const AHEAD: usize = 32;

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
        }
    }

    /// Counts references in order.
    ///
    /// The slots of the next few are looked at ahead, all at once: a processor waits for many places in
    /// memory no longer than for one.
    pub fn references(&mut self, pages: &[PageId]) {
        for ahead in pages.chunks(AHEAD) {
            black_box(ahead.iter().fold(0, |seen, page| seen ^ self.slots.get(*page)));
            for page in ahead {
                self.reference(*page);
            }
        }
    }

    /// Counts a reference to `page`, and returns its distance; `None` for the first one to it.
    #[inline]
    pub fn reference(&mut self, page: PageId) -> Option<usize> {
        if self.next == self.order.len() {
            self.compact();
        }
        let place = self.slots.entry(page);
        let slot = std::mem::replace(place, self.next as u32);
        let newest = self.next.saturating_sub(1);
        self.next += 1;
        if slot == NONE {
            self.order.revive(self.next - 1);
            self.pages += 1;
            self.distances.add_cold();
            return None;
        }
        let slot = slot as usize;
        if slot == newest {
            // The same page again: its slot may stay.
            *place = slot as u32;
            self.next -= 1;
            self.distances.add(1);
            return Some(1);
        }
        let distance = self.order.live_behind(slot, newest) + 1;
        self.order.kill(slot);
        self.order.revive(self.next - 1);
        self.distances.add(distance);
        Some(distance)
    }

    /// What was counted.
    pub fn distances(&self) -> &Distances {
        &self.distances
    }

    /// What was counted; what was needed for counting is given back.
    pub fn into_distances(self) -> Distances {
        self.distances
    }

    /// Numbers the live slots anew, with as much room behind them as they take.
    #[cold]
    fn compact(&mut self) {
        let rank = self.order.ranks();
        for slot in self.slots.values_mut().filter(|slot| **slot != NONE) {
            *slot = rank(*slot as usize) as u32;
        }
        drop(rank);
        let mut order = OrderedSlots::new((2 * self.pages).max(LEAST_SLOTS));
        (0..self.pages).for_each(|slot| order.revive(slot));
        self.order = order;
        self.next = self.pages;
    }
}

impl Default for LruDistances {
    fn default() -> Self {
        Self::new()
    }
}
