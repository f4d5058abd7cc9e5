//! 2Q (Johnson and Shasha, VLDB 1994), the full version.

use farside_trace::PageId;

use super::ghost::Ghosts;
use super::list::{Lists, SlotPages};
use super::{Arrival, ReplacementPolicy, Slot};

/// Pages seen once, in order of arrival: A1in.
const NEW: usize = 0;

/// Pages seen again after they had left [`NEW`], by last use: Am.
const HOT: usize = 1;

/// The only list of ghosts, what left [`NEW`], in that order: A1out.
const OUT: usize = 0;

/// Keeps pages that are used again some time after their first use; one-time scans pass by them.
///
/// A1in takes a quarter of the memory, A1out remembers as many pages as half the memory holds. A hit
/// in A1in changes nothing. A remembered page leaves A1out before room is made for it.
#[derive(Clone, Debug, Default)]
pub struct TwoQueue {
    pages: SlotPages,
    lists: Lists<2>,
    ghosts: Ghosts<1>,
    most_new: usize,
    most_ghosts: usize,
    /// The page that arrives next, if it was remembered.
    returning: Option<PageId>,
}

impl TwoQueue {
    /// A policy without pages.
    pub fn new() -> Self {
        Self { most_new: 1, most_ghosts: 1, ..Self::default() }
    }

    fn add(&mut self, page: PageId, list: usize) -> Slot {
        let slot = self.pages.insert(page);
        self.lists.push_youngest(list, slot);
        slot
    }
}

impl ReplacementPolicy for TwoQueue {
    fn name(&self) -> &'static str {
        "2q"
    }

    fn set_capacity(&mut self, pages: usize) {
        self.most_new = (pages / 4).max(1);
        self.most_ghosts = (pages / 2).max(1);
        self.pages.reserve(pages);
        self.lists.reserve(pages);
        self.ghosts.reserve(self.most_ghosts + 1);
        while self.ghosts.len(OUT) > self.most_ghosts {
            self.ghosts.pop_oldest(OUT);
        }
    }

    fn expect(&mut self, page: PageId) {
        if self.ghosts.remove(page).is_some() {
            self.returning = Some(page);
        }
    }

    fn insert(&mut self, page: PageId, _arrival: Arrival) -> Slot {
        let returning = self.returning.take() == Some(page) || self.ghosts.remove(page).is_some();
        self.add(page, if returning { HOT } else { NEW })
    }

    fn access(&mut self, slot: Slot) {
        if self.lists.list_of(slot) == Some(HOT) {
            self.lists.make_youngest(slot);
        }
    }

    fn remove(&mut self, slot: Slot) {
        self.lists.remove(slot);
        self.pages.release(slot);
    }

    fn victim(&mut self) -> Option<PageId> {
        let new = self.lists.len(NEW) > self.most_new || self.lists.is_empty(HOT);
        let slot = self.lists.pop_oldest(if new { NEW } else { HOT })?;
        let page = self.pages.release(slot);
        if new {
            self.ghosts.push_youngest(OUT, page);
            if self.ghosts.len(OUT) > self.most_ghosts {
                self.ghosts.pop_oldest(OUT);
            }
        }
        Some(page)
    }

    fn restore(&mut self, page: PageId) -> Slot {
        let new = self.ghosts.remove(page).is_some();
        self.add(page, if new { NEW } else { HOT })
    }

    fn len(&self) -> usize {
        self.pages.len()
    }
}
