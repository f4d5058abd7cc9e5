//! Least and most recently used.

use farside_trace::PageId;

use super::list::{Lists, SlotPages};
use super::{Arrival, ReplacementPolicy, Slot};

/// The only list, from least to most recently used.
const STACK: usize = 0;

/// Resident pages in the order of their last use.
#[derive(Clone, Debug, Default)]
struct Recency {
    pages: SlotPages,
    lists: Lists<1>,
}

impl Recency {
    fn reserve(&mut self, pages: usize) {
        self.pages.reserve(pages);
        self.lists.reserve(pages);
    }

    fn insert(&mut self, page: PageId) -> Slot {
        let slot = self.pages.insert(page);
        self.lists.push_youngest(STACK, slot);
        slot
    }

    fn access(&mut self, slot: Slot) {
        self.lists.make_youngest(slot);
    }

    fn remove(&mut self, slot: Slot) -> PageId {
        self.lists.remove(slot);
        self.pages.release(slot)
    }
}

/// Evicts the page whose last use is longest ago.
#[derive(Clone, Debug, Default)]
pub struct Lru(Recency);

/// Evicts the page that was used last: the best there is for loops over more than fits.
#[derive(Clone, Debug, Default)]
pub struct Mru(Recency);

macro_rules! recency_policy {
    ($policy:ident, $name:literal, $victim:ident) => {
        impl $policy {
            /// A policy without pages.
            pub fn new() -> Self {
                Self::default()
            }
        }

        impl ReplacementPolicy for $policy {
            fn name(&self) -> &'static str {
                $name
            }

            fn set_capacity(&mut self, pages: usize) {
                self.0.reserve(pages);
            }

            fn insert(&mut self, page: PageId, _arrival: Arrival) -> Slot {
                self.0.insert(page)
            }

            fn access(&mut self, slot: Slot) {
                self.0.access(slot);
            }

            fn glance(&self, slot: Slot) {
                self.0.lists.glance(slot);
            }

            fn glance_beside(&self, slot: Slot) {
                self.0.lists.glance_beside(slot);
            }

            fn remove(&mut self, slot: Slot) {
                self.0.remove(slot);
            }

            fn victim(&mut self) -> Option<PageId> {
                let slot = self.0.lists.$victim(STACK)?;
                Some(self.0.remove(slot))
            }

            fn restore(&mut self, page: PageId) -> Slot {
                self.0.insert(page)
            }

            fn len(&self) -> usize {
                self.0.pages.len()
            }
        }
    };
}

recency_policy!(Lru, "lru", oldest);
recency_policy!(Mru, "mru", youngest);
