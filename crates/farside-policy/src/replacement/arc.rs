//! ARC, the adaptive replacement cache (Megiddo and Modha, FAST 2003, figure 4).

use farside_trace::PageId;

use super::directory::Directory;
use super::{Arrival, ReplacementPolicy, Slot};

/// Pages seen once lately: T1.
const ONCE: usize = 0;

/// Pages seen at least twice lately: T2.
const OFTEN: usize = 1;

/// From a list of resident pages to that of such pages which left and are remembered: B1 and B2.
const GHOSTS: usize = 2;

/// Shares the memory between pages seen once and pages seen often, as the hits on ghosts of either
/// kind suggest.
///
/// The target for pages seen once is a real number, and so is what it changes by, as in the paper.
#[derive(Clone, Debug, Default)]
pub struct Arc {
    directory: Directory<4>,
    capacity: usize,
    /// How many pages seen once are to be resident: p.
    target: f64,
    /// The page that arrives next, and if it is remembered its slot and which list it was in.
    expected: Option<(PageId, Option<(Slot, usize)>)>,
}

impl Arc {
    /// A policy without pages.
    pub fn new() -> Self {
        Self::default()
    }

    /// Finds out whether `page` is remembered, and adapts the target to it.
    fn recall(&mut self, page: PageId) -> Option<(Slot, usize)> {
        let ghosts = |list: usize| self.directory.len(list + GHOSTS) as f64;
        let (once, often) = (ghosts(ONCE), ghosts(OFTEN));
        let found = self.directory.recall(page);
        let capacity = self.capacity as f64;
        match found {
            Some((_, list)) if list == ONCE + GHOSTS => {
                self.target = (self.target + (often / once).max(1.0)).min(capacity);
            }
            Some(_) => self.target = (self.target - (once / often).max(1.0)).max(0.0),
            None => {}
        }
        found
    }

    /// Removes the least recent page of the kind that has more than its share; it becomes a ghost.
    fn replace(&mut self, returning_often: bool) -> Option<PageId> {
        let once = self.directory.len(ONCE) as f64;
        let over = once > self.target || (returning_often && once == self.target);
        let list = if once > 0.0 && over { ONCE } else { OFTEN };
        let (slot, list) = match self.directory.oldest(list) {
            Some(slot) => (slot, list),
            None => (self.directory.oldest(ONCE)?, ONCE),
        };
        self.directory.retire(slot, list + GHOSTS)
    }

    /// Makes room for a page that is not remembered.
    fn replace_for_new(&mut self) -> Option<PageId> {
        let (once, ghosts) = (self.directory.len(ONCE), self.directory.len(ONCE + GHOSTS));
        if once + ghosts >= self.capacity {
            // With pages seen once only there is no room left to remember one.
            if ghosts == 0
                && let Some(slot) = self.directory.oldest(ONCE)
            {
                return Some(self.directory.release(slot));
            }
            self.directory.forget_oldest(ONCE + GHOSTS);
        } else if self.all() >= 2 * self.capacity {
            self.directory.forget_oldest(OFTEN + GHOSTS);
        }
        self.replace(false)
    }

    /// Pages resident or remembered.
    fn all(&self) -> usize {
        (0..4).map(|list| self.directory.len(list)).sum()
    }

    /// Forgets ghosts over the bounds that hold between one arrival and the next.
    fn trim(&mut self) {
        while self.directory.len(ONCE) + self.directory.len(ONCE + GHOSTS) > self.capacity
            && self.directory.forget_oldest(ONCE + GHOSTS)
        {}
        while self.all() > 2 * self.capacity && self.directory.forget_oldest(OFTEN + GHOSTS) {}
    }
}

impl ReplacementPolicy for Arc {
    fn name(&self) -> &'static str {
        "arc"
    }

    fn rely_on_hints(&mut self) {
        self.directory.rely_on_hints();
    }

    fn hint(&mut self, page: PageId, slot: Slot) {
        self.directory.hint(page, slot);
    }

    fn set_capacity(&mut self, pages: usize) {
        self.capacity = pages;
        self.target = self.target.min(pages as f64);
        // Twice the memory in all, whatever share of that is resident.
        self.directory.reserve(1, 2 * pages);
        self.trim();
    }

    fn expect(&mut self, page: PageId) {
        let found = self.recall(page);
        if let Some((_, Some((slot, _)))) = self.expected.replace((page, found)) {
            // That one never came.
            self.directory.discard(slot);
        }
    }

    fn insert(&mut self, page: PageId, _arrival: Arrival) -> Slot {
        let found = match self.expected.take() {
            Some((expected, found)) if expected == page => found,
            other => {
                if let Some((_, Some((slot, _)))) = other {
                    self.directory.discard(slot);
                }
                self.recall(page)
            }
        };
        let slot = match found {
            Some((slot, _)) => {
                self.directory.readmit(slot, OFTEN);
                slot
            }
            None => self.directory.admit(page, ONCE),
        };
        self.trim();
        slot
    }

    fn access(&mut self, slot: Slot) {
        self.directory.move_to(slot, OFTEN);
    }

    fn glance(&self, slot: Slot) {
        self.directory.glance(slot);
    }

    fn glance_beside(&self, slot: Slot) {
        self.directory.glance_beside(slot);
    }

    fn likely_victim(&self) -> Option<PageId> {
        let once = self.directory.len(ONCE) as f64 > self.target;
        self.directory.page(self.directory.oldest(if once { ONCE } else { OFTEN })?)
    }

    fn remove(&mut self, slot: Slot) {
        self.directory.release(slot);
    }

    fn victim(&mut self) -> Option<PageId> {
        match self.expected {
            Some((_, Some((_, list)))) => self.replace(list == OFTEN + GHOSTS),
            _ => self.replace_for_new(),
        }
    }

    fn restore(&mut self, page: PageId) -> Slot {
        match self.directory.recall(page) {
            Some((slot, list)) => {
                self.directory.readmit(slot, list - GHOSTS);
                slot
            }
            None => self.directory.admit(page, ONCE),
        }
    }

    fn len(&self) -> usize {
        self.directory.len(ONCE) + self.directory.len(OFTEN)
    }
}
