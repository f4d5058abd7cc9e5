//! CLOCK: second chance by one reference bit per page.

use farside_trace::PageId;

use super::list::{Lists, SlotPages};
use super::{Arrival, ReplacementPolicy, Slot};

/// The only list, in the order in which the hand comes by.
const RING: usize = 0;

/// Evicts the first page under the hand whose reference bit is clear, and clears the bits on its way.
///
/// Whether the access that brought a page counts is a parameter: textbook systems start with the bit
/// set (`clock1`), since the faulting access sets it; caches mostly start with it clear (`clock0`).
#[derive(Clone, Debug)]
pub struct Clock {
    pages: SlotPages,
    lists: Lists<1>,
    /// By slot: whether the page was used since the hand came by.
    used: Vec<bool>,
    fresh: bool,
}

impl Clock {
    /// A policy without pages; `fresh` is the reference bit of a page that arrives on demand.
    pub fn new(fresh: bool) -> Self {
        Self { pages: SlotPages::new(), lists: Lists::new(), used: Vec::new(), fresh }
    }

    fn add(&mut self, page: PageId, used: bool) -> Slot {
        let slot = self.pages.insert(page);
        self.lists.push_youngest(RING, slot);
        let index = slot.0 as usize;
        if index >= self.used.len() {
            self.used.resize(index + 1, false);
        }
        self.used[index] = used;
        slot
    }
}

impl ReplacementPolicy for Clock {
    fn name(&self) -> &'static str {
        if self.fresh { "clock1" } else { "clock0" }
    }

    fn set_capacity(&mut self, pages: usize) {
        self.pages.reserve(pages);
        self.lists.reserve(pages);
        self.used.reserve_exact(pages.saturating_sub(self.used.len()));
    }

    fn insert(&mut self, page: PageId, arrival: Arrival) -> Slot {
        self.add(page, self.fresh && arrival != Arrival::Prefetch)
    }

    fn access(&mut self, slot: Slot) {
        self.used[slot.0 as usize] = true;
    }

    fn glance(&self, slot: Slot) {
        farside_glance::at(&self.used, slot.0 as usize);
    }

    fn likely_victim(&self) -> Option<PageId> {
        self.pages.get(self.lists.oldest(RING)?)
    }

    fn remove(&mut self, slot: Slot) {
        self.lists.remove(slot);
        self.pages.release(slot);
    }

    fn victim(&mut self) -> Option<PageId> {
        loop {
            let slot = self.lists.oldest(RING)?;
            if !std::mem::take(&mut self.used[slot.0 as usize]) {
                self.lists.remove(slot);
                return Some(self.pages.release(slot));
            }
            self.lists.make_youngest(slot);
        }
    }

    fn restore(&mut self, page: PageId) -> Slot {
        self.add(page, true)
    }

    fn len(&self) -> usize {
        self.pages.len()
    }
}
