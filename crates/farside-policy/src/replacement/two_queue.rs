//! 2Q (Johnson and Shasha, VLDB 1994), the full version.

use farside_trace::PageId;

use super::directory::Directory;
use super::{Arrival, ReplacementPolicy, Slot};

/// Pages seen once, in order of arrival: A1in.
const NEW: usize = 0;

/// Pages seen again after they had left [`NEW`], by last use: Am.
const HOT: usize = 1;

/// Remembered pages, what left [`NEW`], in that order: A1out.
const OUT: usize = 2;

/// Keeps pages that are used again some time after their first use; one-time scans pass by them.
///
/// A1in takes a quarter of the memory, A1out remembers as many pages as half the memory holds. A hit
/// in A1in changes nothing. A remembered page leaves A1out before room is made for it.
#[derive(Clone, Debug, Default)]
pub struct TwoQueue {
    directory: Directory<3>,
    most_new: usize,
    most_ghosts: usize,
    /// The page that arrives next and its slot, if it was remembered.
    returning: Option<(PageId, Slot)>,
}

impl TwoQueue {
    /// A policy without pages.
    pub fn new() -> Self {
        Self { most_new: 1, most_ghosts: 1, ..Self::default() }
    }

    /// Forgets the page that was to arrive next.
    fn forget_returning(&mut self) {
        if let Some((_, slot)) = self.returning.take() {
            self.directory.discard(slot);
        }
    }
}

impl ReplacementPolicy for TwoQueue {
    fn name(&self) -> &'static str {
        "2q"
    }

    fn rely_on_hints(&mut self) {
        self.directory.rely_on_hints();
    }

    fn hint(&mut self, page: PageId, slot: Slot) {
        self.directory.hint(page, slot);
    }

    fn set_capacity(&mut self, pages: usize) {
        self.most_new = (pages / 4).max(1);
        self.most_ghosts = (pages / 2).max(1);
        self.directory.reserve(pages, self.most_ghosts + 2);
        while self.directory.len(OUT) > self.most_ghosts {
            self.directory.forget_oldest(OUT);
        }
    }

    fn expect(&mut self, page: PageId) {
        self.forget_returning();
        self.returning = self.directory.recall(page).map(|(slot, _)| (page, slot));
    }

    fn insert(&mut self, page: PageId, _arrival: Arrival) -> Slot {
        if self.returning.is_none_or(|(returning, _)| returning != page) {
            self.expect(page);
        }
        match self.returning.take() {
            Some((_, slot)) => {
                self.directory.readmit(slot, HOT);
                slot
            }
            None => self.directory.admit(page, NEW),
        }
    }

    fn access(&mut self, slot: Slot) {
        if self.directory.list_of(slot) == Some(HOT) {
            self.directory.move_to(slot, HOT);
        }
    }

    fn glance(&self, slot: Slot) {
        self.directory.glance(slot);
    }

    fn glance_beside(&self, slot: Slot) {
        self.directory.glance_beside(slot);
    }

    fn likely_victim(&self) -> Option<PageId> {
        // One more is new until then.
        let new = self.directory.len(NEW) >= self.most_new;
        self.directory.page(self.directory.oldest(if new { NEW } else { HOT })?)
    }

    fn remove(&mut self, slot: Slot) {
        self.directory.release(slot);
    }

    fn victim(&mut self) -> Option<PageId> {
        let new = self.directory.len(NEW) > self.most_new || self.directory.len(HOT) == 0;
        let slot = self.directory.oldest(if new { NEW } else { HOT })?;
        if !new {
            return Some(self.directory.release(slot));
        }
        let page = self.directory.retire(slot, OUT);
        if self.directory.len(OUT) > self.most_ghosts {
            self.directory.forget_oldest(OUT);
        }
        page
    }

    fn restore(&mut self, page: PageId) -> Slot {
        match self.directory.recall(page) {
            Some((slot, _)) => {
                self.directory.readmit(slot, NEW);
                slot
            }
            None => self.directory.admit(page, HOT),
        }
    }

    fn len(&self) -> usize {
        self.directory.len(NEW) + self.directory.len(HOT)
    }
}
