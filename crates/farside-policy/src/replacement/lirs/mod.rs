//! LIRS (Jiang and Zhang, SIGMETRICS 2002).

mod entries;

use farside_trace::PageId;

use super::remembered::Remembered;
use super::{Arrival, ReplacementPolicy, Slot};
use entries::{Entries, Kind, Order};

/// What the definition leaves open.
#[derive(Copy, Clone, Debug)]
pub struct LirsOptions {
    /// Share of the memory for pages of high recency, in thousandths; at least [`Self::least_high`].
    pub high_permille: usize,
    /// Fewest pages for those of high recency.
    pub least_high: usize,
    /// Whether a reference to the page referenced last counts.
    pub repeats_count: bool,
    /// Most pages that are remembered after they left, as a multiple of the capacity; without a bound
    /// the stack grows with the number of pages ever used.
    pub most_ghosts: Option<usize>,
}

impl Default for LirsOptions {
    /// The authors' definition: 1 %, at least two pages, repeats ignored, no bound.
    fn default() -> Self {
        Self { high_permille: 10, least_high: 2, repeats_count: false, most_ghosts: None }
    }
}

/// Keeps the pages that come back soonest after their last use, by the time between their last two
/// references instead of that since the last one.
#[derive(Clone, Debug)]
pub struct Lirs {
    name: &'static str,
    options: LirsOptions,
    entries: Entries,
    ghosts: Remembered,
    low: usize,
    most_low: usize,
    most_ghosts: usize,
    last: Option<Slot>,
}

impl Lirs {
    /// A policy without pages, by the authors' definition.
    pub fn new() -> Self {
        Self::with_options("lirs", LirsOptions::default())
    }

    /// A policy without pages, called `name`.
    pub fn with_options(name: &'static str, options: LirsOptions) -> Self {
        Self {
            name,
            options,
            entries: Entries::new(),
            ghosts: Remembered::new(),
            low: 0,
            most_low: 0,
            most_ghosts: usize::MAX,
            last: None,
        }
    }

    /// Makes a page that is in no list but the stack one that stays.
    fn promote(&mut self, slot: Slot) {
        self.entries.set_kind(slot, Kind::Low);
        self.low += 1;
        self.entries.make_youngest(Order::Stack, slot);
        self.demote_surplus();
    }

    /// Turns the oldest of the pages that stay into pages that leave, as long as there are too many.
    fn demote_surplus(&mut self) {
        self.prune();
        while self.low > self.most_low {
            let Some(slot) = self.entries.oldest(Order::Stack) else { return };
            self.entries.remove(Order::Stack, slot);
            self.entries.set_kind(slot, Kind::High);
            self.low -= 1;
            self.entries.push_youngest(Order::Queue, slot);
            self.prune();
        }
    }

    /// Takes what does not stay from the old end of the stack: no reference to it can be more recent
    /// than one to a page that stays.
    fn prune(&mut self) {
        while let Some(slot) = self.entries.oldest(Order::Stack) {
            match self.entries.kind(slot) {
                Kind::Low => return,
                Kind::High => self.entries.remove(Order::Stack, slot),
                Kind::Ghost | Kind::Free => self.forget(slot),
            }
        }
    }

    /// Forgets a ghost.
    fn forget(&mut self, slot: Slot) {
        self.entries.remove(Order::Stack, slot);
        self.unlist_ghost(slot);
        let page = self.entries.release(slot);
        self.ghosts.forget(page, slot);
    }

    /// Takes a ghost out of their list, if they have one.
    fn unlist_ghost(&mut self, slot: Slot) {
        if self.options.most_ghosts.is_some() {
            self.entries.remove(Order::Ghosts, slot);
        }
    }

    /// Lets a page in that nobody has referenced yet; it keeps the place in the stack it may have.
    fn add_unreferenced(&mut self, page: PageId) -> Slot {
        let slot = match self.ghosts.recall(page, |slot| self.entries.page(slot)) {
            Some(slot) => {
                self.unlist_ghost(slot);
                self.entries.set_kind(slot, Kind::High);
                slot
            }
            None => self.entries.insert(page, Kind::High),
        };
        self.entries.push_youngest(Order::Queue, slot);
        slot
    }

    /// Lets a page in because it is referenced.
    fn add_referenced(&mut self, page: PageId) -> Slot {
        if let Some(slot) = self.ghosts.recall(page, |slot| self.entries.page(slot)) {
            self.unlist_ghost(slot);
            self.promote(slot);
            return slot;
        }
        let low = self.low < self.most_low;
        let slot = self.entries.insert(page, if low { Kind::Low } else { Kind::High });
        self.entries.push_youngest(Order::Stack, slot);
        if low {
            self.low += 1;
        } else {
            self.entries.push_youngest(Order::Queue, slot);
        }
        slot
    }
}

impl Default for Lirs {
    fn default() -> Self {
        Self::new()
    }
}

impl ReplacementPolicy for Lirs {
    fn name(&self) -> &'static str {
        self.name
    }

    fn rely_on_hints(&mut self) {
        self.ghosts.rely_on_hints();
    }

    fn hint(&mut self, page: PageId, slot: Slot) {
        self.ghosts.hint(page, slot);
    }

    fn set_capacity(&mut self, pages: usize) {
        let high = (pages * self.options.high_permille / 1000).max(self.options.least_high);
        self.most_low = pages.saturating_sub(high);
        self.most_ghosts = self.options.most_ghosts.map_or(usize::MAX, |times| times * pages);
        let slots = pages.saturating_add(self.options.most_ghosts.map_or(0, |times| times * pages));
        self.entries.reserve(slots);
        self.ghosts.reserve(slots - pages);
        self.demote_surplus();
    }

    fn insert(&mut self, page: PageId, arrival: Arrival) -> Slot {
        if arrival == Arrival::Prefetch {
            return self.add_unreferenced(page);
        }
        let slot = self.add_referenced(page);
        self.last = Some(slot);
        slot
    }

    fn access(&mut self, slot: Slot) {
        if self.last == Some(slot) && !self.options.repeats_count {
            return;
        }
        self.last = Some(slot);
        let in_stack = self.entries.in_stack(slot);
        match self.entries.kind(slot) {
            Kind::Low => {
                let oldest = self.entries.oldest(Order::Stack) == Some(slot);
                self.entries.make_youngest(Order::Stack, slot);
                if oldest {
                    self.prune();
                }
            }
            Kind::High if in_stack => {
                self.entries.remove(Order::Queue, slot);
                self.promote(slot);
            }
            _ => {
                self.entries.push_youngest(Order::Stack, slot);
                self.entries.make_youngest(Order::Queue, slot);
            }
        }
    }

    fn glance(&self, slot: Slot) {
        self.entries.glance(slot);
    }

    fn glance_beside(&self, slot: Slot) {
        self.entries.glance_beside(slot);
    }

    fn likely_victim(&self) -> Option<PageId> {
        self.entries.page(self.entries.oldest(Order::Queue)?)
    }

    fn remove(&mut self, slot: Slot) {
        if self.entries.kind(slot) == Kind::Low {
            self.low -= 1;
        } else {
            self.entries.remove(Order::Queue, slot);
        }
        if self.entries.in_stack(slot) {
            self.entries.remove(Order::Stack, slot);
        }
        self.entries.release(slot);
        self.last = self.last.filter(|last| *last != slot);
        self.prune();
    }

    fn victim(&mut self) -> Option<PageId> {
        let Some(slot) = self.entries.oldest(Order::Queue) else {
            self.prune();
            let slot = self.entries.oldest(Order::Stack)?;
            let page = self.entries.page(slot);
            self.remove(slot);
            return page;
        };
        self.entries.remove(Order::Queue, slot);
        self.last = self.last.filter(|last| *last != slot);
        if !self.entries.in_stack(slot) {
            return Some(self.entries.release(slot));
        }
        let page = self.entries.page(slot)?;
        self.entries.set_kind(slot, Kind::Ghost);
        self.ghosts.insert(page, slot);
        if self.options.most_ghosts.is_some() {
            self.entries.push_youngest(Order::Ghosts, slot);
            if self.entries.len(Order::Ghosts) > self.most_ghosts
                && let Some(oldest) = self.entries.oldest(Order::Ghosts)
            {
                self.forget(oldest);
            }
        }
        Some(page)
    }

    fn restore(&mut self, page: PageId) -> Slot {
        self.add_unreferenced(page)
    }

    fn len(&self) -> usize {
        self.low + self.entries.len(Order::Queue)
    }
}
