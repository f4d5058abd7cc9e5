//! Second chance with two lists, as far as accesses can be seen without the kernel's help.

use std::num::NonZeroUsize;

use farside_trace::PageId;

use super::list::{Lists, SlotPages};
use super::{Arrival, ReplacementPolicy, Slot};

/// Pages whose accesses cannot be seen.
const ACTIVE: usize = 0;

/// Pages that are watched and leave next unless they are used.
const INACTIVE: usize = 1;

/// One page in this many is watched unless told otherwise.
const DEFAULT_DIVISOR: NonZeroUsize = NonZeroUsize::new(8).unwrap();

/// Evicts in order of arrival, but spares pages that are used while they are about to leave.
///
/// Pages arrive at the young end of the *active* list. [`watch`](ReplacementPolicy::watch) moves the
/// oldest of them to the *inactive* list, for the caller to unmap; a page accessed there returns to
/// the young end of the active list. The oldest inactive page is the victim, and only if there is
/// none the oldest active one. The inactive list is bounded to a share of the capacity, because each
/// access to a page on it costs a soft fault.
///
/// Choices beyond that:
/// - Pages are watched only while pages have to leave: `watch` fills the inactive list up after
///   [`victim`](ReplacementPolicy::victim) was called, and then not again until its next call. A
///   program that fits into its memory is therefore not disturbed, however often `watch` is called.
/// - A prefetched page enters the active list like any other. It has the time that an unused page
///   needs to reach the inactive list to prove useful; entering the inactive list, it would often
///   leave before its first use.
/// - A restored victim goes to the young end of the active list: what the kernel holds now it will
///   most likely hold for a while.
/// - A page that the program is done with goes to the old end of the inactive list, without being watched.
#[derive(Clone, Debug)]
pub struct SecondChance {
    pages: SlotPages,
    lists: Lists<2>,
    divisor: NonZeroUsize,
    most_inactive: usize,
    /// A page left since the inactive list was last full.
    pressed: bool,
}

impl SecondChance {
    /// A policy without pages that watches up to an eighth of the capacity.
    pub fn new() -> Self {
        Self::with_watched_share(DEFAULT_DIVISOR)
    }

    /// A policy without pages that watches up to one page in `divisor`, and at least one if the
    /// capacity is two pages or more.
    pub fn with_watched_share(divisor: NonZeroUsize) -> Self {
        Self {
            pages: SlotPages::new(),
            lists: Lists::new(),
            divisor,
            most_inactive: 0,
            pressed: false,
        }
    }
}

impl Default for SecondChance {
    fn default() -> Self {
        Self::new()
    }
}

impl ReplacementPolicy for SecondChance {
    fn name(&self) -> &'static str {
        "second-chance"
    }

    fn set_capacity(&mut self, pages: usize) {
        self.pages.reserve(pages);
        self.lists.reserve(pages);
        self.most_inactive = if pages < 2 { 0 } else { (pages / self.divisor).max(1) };
    }

    fn insert(&mut self, page: PageId, _arrival: Arrival) -> Slot {
        let slot = self.pages.insert(page);
        self.lists.push_youngest(ACTIVE, slot);
        slot
    }

    fn access(&mut self, slot: Slot) {
        if self.lists.list_of(slot) == Some(INACTIVE) {
            self.lists.remove(slot);
            self.lists.push_youngest(ACTIVE, slot);
        }
    }

    fn dismiss(&mut self, slot: Slot) {
        self.lists.remove(slot);
        self.lists.push_oldest(INACTIVE, slot);
    }

    fn remove(&mut self, slot: Slot) {
        self.lists.remove(slot);
        self.pages.release(slot);
    }

    fn victim(&mut self) -> Option<PageId> {
        let slot = match self.lists.pop_oldest(INACTIVE) {
            Some(slot) => slot,
            None => self.lists.pop_oldest(ACTIVE)?,
        };
        self.pressed = true;
        Some(self.pages.release(slot))
    }

    fn restore(&mut self, page: PageId) -> Slot {
        self.insert(page, Arrival::Demand)
    }

    fn watch(&mut self, max: usize, out: &mut Vec<(PageId, Slot)>) {
        if !self.pressed {
            return;
        }
        for _ in 0..max {
            if self.lists.len(INACTIVE) >= self.most_inactive {
                break;
            }
            let Some(slot) = self.lists.pop_oldest(ACTIVE) else { break };
            self.lists.push_youngest(INACTIVE, slot);
            out.extend(self.pages.get(slot).map(|page| (page, slot)));
        }
        self.pressed = self.lists.len(INACTIVE) < self.most_inactive;
    }

    fn len(&self) -> usize {
        self.pages.len()
    }
}
