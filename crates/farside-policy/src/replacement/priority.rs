//! Explicit priorities (Eden, section 4: *priority*).

use farside_trace::PageId;

use super::list::{Lists, SlotPages};
use super::{Arrival, ReplacementPolicy, Slot};

/// Most priorities there can be.
pub const MOST_PRIORITIES: usize = 8;

/// The list of pages that the program is done with.
const DONE: usize = MOST_PRIORITIES;

/// A sixteenth of memory, and no more pages than these, is left to what has a priority: what several passes fetch ahead
/// of themselves.
const ROOM: usize = 1024;
const ROOM_SHARE: usize = 16;

/// Evicts pages of the highest priority first, and among those of one priority what came first.
///
/// A priority is one of eviction, as in Eden: the program gives a high one to pages that it will
/// not need again soon. A page arrives with priority 0, the lowest, and gets another one by
/// [`prioritize`](ReplacementPolicy::prioritize), with which it goes to the young end of its new
/// list. A priority that does not exist stands for the highest there is. A restored victim has
/// priority 0 again. Without priorities this is first in, first out.
///
/// Unlike in Eden the last pages of priorities above 0, a sixteenth of memory, stay until there are no others: pages that
/// are fetched ahead with a priority would else leave before the program comes to them, where all the rest of memory has
/// none. What the program is done with has no such room.
#[derive(Clone, Debug)]
pub struct Priority {
    pages: SlotPages,
    lists: Lists<{ MOST_PRIORITIES + 1 }>,
    priorities: usize,
    /// Pages that what has a priority has room for.
    room: usize,
}

impl Priority {
    /// A policy without pages and with two priorities, as many as Eden has by default.
    pub fn new() -> Self {
        Self::with_priorities(2)
    }

    /// A policy without pages and with `priorities` priorities, at least one and at most
    /// [`MOST_PRIORITIES`].
    pub fn with_priorities(priorities: usize) -> Self {
        let priorities = priorities.clamp(1, MOST_PRIORITIES);
        Self { pages: SlotPages::new(), lists: Lists::new(), priorities, room: 0 }
    }

    /// Takes out the page that leaves next.
    fn next(&mut self) -> Option<Slot> {
        if let Some(done) = self.lists.pop_oldest(DONE) {
            return Some(done);
        }
        let above: usize = (1..self.priorities).map(|list| self.lists.len(list)).sum();
        if above <= self.room
            && let Some(lowest) = self.lists.pop_oldest(0)
        {
            return Some(lowest);
        }
        (0..self.priorities).rev().find_map(|list| self.lists.pop_oldest(list))
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self::new()
    }
}

impl ReplacementPolicy for Priority {
    fn name(&self) -> &'static str {
        "priority"
    }

    fn set_capacity(&mut self, pages: usize) {
        self.pages.reserve(pages);
        self.lists.reserve(pages);
        self.room = ROOM.min(pages / ROOM_SHARE);
    }

    fn insert(&mut self, page: PageId, _arrival: Arrival) -> Slot {
        let slot = self.pages.insert(page);
        self.lists.push_youngest(0, slot);
        slot
    }

    fn access(&mut self, _slot: Slot) {}

    fn prioritize(&mut self, slot: Slot, priority: u8) {
        let list = usize::from(priority).min(self.priorities - 1);
        if self.lists.list_of(slot) != Some(list) {
            self.lists.remove(slot);
            self.lists.push_youngest(list, slot);
        }
    }

    fn dismiss(&mut self, slot: Slot) {
        self.lists.remove(slot);
        self.lists.push_youngest(DONE, slot);
    }

    fn remove(&mut self, slot: Slot) {
        self.lists.remove(slot);
        self.pages.release(slot);
    }

    fn victim(&mut self) -> Option<PageId> {
        let slot = self.next()?;
        Some(self.pages.release(slot))
    }

    fn restore(&mut self, page: PageId) -> Slot {
        self.insert(page, Arrival::Demand)
    }

    fn len(&self) -> usize {
        self.pages.len()
    }
}
