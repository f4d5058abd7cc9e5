//! First in, first out.

use farside_trace::PageId;

use super::list::{Lists, SlotPages};
use super::{Arrival, ReplacementPolicy, Slot};

/// The only list.
const QUEUE: usize = 0;

/// Evicts pages in order of arrival, whatever happens to them in between.
///
/// Needs to see no access, so it costs no soft faults. A restored victim arrives anew.
#[derive(Clone, Debug, Default)]
pub struct Fifo {
    pages: SlotPages,
    lists: Lists<1>,
}

impl Fifo {
    /// A policy without pages.
    pub fn new() -> Self {
        Self::default()
    }
}

impl ReplacementPolicy for Fifo {
    fn name(&self) -> &'static str {
        "fifo"
    }

    fn set_capacity(&mut self, pages: usize) {
        self.pages.reserve(pages);
        self.lists.reserve(pages);
    }

    fn insert(&mut self, page: PageId, _arrival: Arrival) -> Slot {
        let slot = self.pages.insert(page);
        self.lists.push_youngest(QUEUE, slot);
        slot
    }

    fn access(&mut self, _slot: Slot) {}

    fn dismiss(&mut self, slot: Slot) {
        self.lists.remove(slot);
        self.lists.push_oldest(QUEUE, slot);
    }

    fn remove(&mut self, slot: Slot) {
        self.lists.remove(slot);
        self.pages.release(slot);
    }

    fn victim(&mut self) -> Option<PageId> {
        let slot = self.lists.pop_oldest(QUEUE)?;
        Some(self.pages.release(slot))
    }

    fn restore(&mut self, page: PageId) -> Slot {
        self.insert(page, Arrival::Demand)
    }

    fn len(&self) -> usize {
        self.pages.len()
    }
}
