//! ARC, the adaptive replacement cache (Megiddo and Modha, FAST 2003, figure 4).

use farside_trace::PageId;

use super::ghost::Ghosts;
use super::list::{Lists, SlotPages};
use super::{Arrival, ReplacementPolicy, Slot};

/// Pages seen once lately, and the ghosts of such pages: T1 and B1.
const ONCE: usize = 0;

/// Pages seen at least twice lately, and the ghosts of such pages: T2 and B2.
const OFTEN: usize = 1;

/// Shares the memory between pages seen once and pages seen often, as the hits on ghosts of either
/// kind suggest.
///
/// The target for pages seen once is a real number, and so is what it changes by, as in the paper.
#[derive(Clone, Debug, Default)]
pub struct Arc {
    pages: SlotPages,
    resident: Lists<2>,
    ghosts: Ghosts<2>,
    capacity: usize,
    /// How many pages seen once are to be resident: p.
    target: f64,
    /// The page that arrives next, and which kind of ghost it was.
    expected: Option<(PageId, Option<usize>)>,
}

impl Arc {
    /// A policy without pages.
    pub fn new() -> Self {
        Self::default()
    }

    fn add(&mut self, page: PageId, list: usize) -> Slot {
        let slot = self.pages.insert(page);
        self.resident.push_youngest(list, slot);
        slot
    }

    /// Finds out whether `page` is remembered, and adapts the target to it.
    fn recall(&mut self, page: PageId) -> Option<usize> {
        let (once, often) = (self.ghosts.len(ONCE) as f64, self.ghosts.len(OFTEN) as f64);
        let kind = self.ghosts.remove(page);
        let capacity = self.capacity as f64;
        match kind {
            Some(ONCE) => self.target = (self.target + (often / once).max(1.0)).min(capacity),
            Some(_) => self.target = (self.target - (once / often).max(1.0)).max(0.0),
            None => {}
        }
        kind
    }

    /// Removes the least recent page of the kind that has more than its share; it becomes a ghost.
    fn replace(&mut self, returning_often: bool) -> Option<PageId> {
        let once = self.resident.len(ONCE) as f64;
        let over = once > self.target || (returning_often && once == self.target);
        let list = if once > 0.0 && over { ONCE } else { OFTEN };
        let (slot, list) = match self.resident.pop_oldest(list) {
            Some(slot) => (slot, list),
            None => (self.resident.pop_oldest(ONCE)?, ONCE),
        };
        let page = self.pages.release(slot);
        self.ghosts.push_youngest(list, page);
        Some(page)
    }

    /// Makes room for a page that is not remembered.
    fn replace_for_new(&mut self) -> Option<PageId> {
        let (once, ghosts) = (self.resident.len(ONCE), self.ghosts.len(ONCE));
        if once + ghosts >= self.capacity {
            // With pages seen once only there is no room left to remember one.
            if ghosts == 0
                && let Some(slot) = self.resident.pop_oldest(ONCE)
            {
                return Some(self.pages.release(slot));
            }
            self.ghosts.pop_oldest(ONCE);
        } else if self.pages.len() + ghosts + self.ghosts.len(OFTEN) >= 2 * self.capacity {
            self.ghosts.pop_oldest(OFTEN);
        }
        self.replace(false)
    }

    /// Forgets ghosts over the bounds that hold between one arrival and the next.
    fn trim(&mut self) {
        while self.resident.len(ONCE) + self.ghosts.len(ONCE) > self.capacity
            && self.ghosts.pop_oldest(ONCE).is_some()
        {}
        let ghosts = |ghosts: &Ghosts<2>| ghosts.len(ONCE) + ghosts.len(OFTEN);
        while self.pages.len() + ghosts(&self.ghosts) > 2 * self.capacity
            && self.ghosts.pop_oldest(OFTEN).is_some()
        {}
    }
}

impl ReplacementPolicy for Arc {
    fn name(&self) -> &'static str {
        "arc"
    }

    fn set_capacity(&mut self, pages: usize) {
        self.capacity = pages;
        self.target = self.target.min(pages as f64);
        self.pages.reserve(pages);
        self.resident.reserve(pages);
        self.ghosts.reserve(2 * pages + 1);
        self.trim();
    }

    fn expect(&mut self, page: PageId) {
        let kind = self.recall(page);
        self.expected = Some((page, kind));
    }

    fn insert(&mut self, page: PageId, _arrival: Arrival) -> Slot {
        let kind = match self.expected.take() {
            Some((expected, kind)) if expected == page => kind,
            _ => self.recall(page),
        };
        let slot = self.add(page, if kind.is_some() { OFTEN } else { ONCE });
        self.trim();
        slot
    }

    fn access(&mut self, slot: Slot) {
        self.resident.remove(slot);
        self.resident.push_youngest(OFTEN, slot);
    }

    fn remove(&mut self, slot: Slot) {
        self.resident.remove(slot);
        self.pages.release(slot);
    }

    fn victim(&mut self) -> Option<PageId> {
        match self.expected {
            Some((_, Some(kind))) => self.replace(kind == OFTEN),
            _ => self.replace_for_new(),
        }
    }

    fn restore(&mut self, page: PageId) -> Slot {
        let kind = self.ghosts.remove(page).unwrap_or(ONCE);
        self.add(page, kind)
    }

    fn len(&self) -> usize {
        self.pages.len()
    }
}
