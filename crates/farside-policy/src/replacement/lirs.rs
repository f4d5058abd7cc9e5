//! LIRS (Jiang and Zhang, SIGMETRICS 2002).

use farside_trace::PageId;

use super::list::{Lists, SlotPages};
use super::remembered::Remembered;
use super::{Arrival, ReplacementPolicy, Slot};

/// The only list of the stack, from the oldest reference to the youngest: S.
const STACK: usize = 0;

/// Resident pages of high recency, in the order in which they leave: Q.
const QUEUE: usize = 0;

/// Pages that left and are still in the stack, in the order in which they left; only if there is a bound
/// for them, else nobody asks for the order.
const GHOSTS: usize = 1;

/// What a page in the stack or in the queue is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// Low inter-reference recency: stays. Always resident and in the stack.
    Low,
    /// High inter-reference recency, resident, in the queue.
    High,
    /// High inter-reference recency, not resident, in the stack.
    Ghost,
}

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
    pages: SlotPages,
    kinds: Vec<Kind>,
    stack: Lists<1>,
    lists: Lists<2>,
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
            pages: SlotPages::new(),
            kinds: Vec::new(),
            stack: Lists::new(),
            lists: Lists::new(),
            ghosts: Remembered::new(),
            low: 0,
            most_low: 0,
            most_ghosts: usize::MAX,
            last: None,
        }
    }

    fn kind(&self, slot: Slot) -> Kind {
        self.kinds[slot.0 as usize]
    }

    fn set(&mut self, slot: Slot, kind: Kind) {
        self.kinds[slot.0 as usize] = kind;
    }

    fn new_slot(&mut self, page: PageId, kind: Kind) -> Slot {
        let slot = self.pages.insert(page);
        let index = slot.0 as usize;
        if index >= self.kinds.len() {
            self.kinds.resize(index + 1, kind);
        }
        self.kinds[index] = kind;
        slot
    }

    /// Makes a page that is in no list but the stack one that stays.
    fn promote(&mut self, slot: Slot) {
        self.set(slot, Kind::Low);
        self.low += 1;
        self.stack.make_youngest(slot);
        self.demote_surplus();
    }

    /// Turns the oldest of the pages that stay into pages that leave, as long as there are too many.
    fn demote_surplus(&mut self) {
        self.prune();
        while self.low > self.most_low {
            let Some(slot) = self.stack.pop_oldest(STACK) else { return };
            self.set(slot, Kind::High);
            self.low -= 1;
            self.lists.push_youngest(QUEUE, slot);
            self.prune();
        }
    }

    /// Takes what does not stay from the old end of the stack: no reference to it can be more recent
    /// than one to a page that stays.
    fn prune(&mut self) {
        while let Some(slot) = self.stack.oldest(STACK) {
            match self.kind(slot) {
                Kind::Low => return,
                Kind::High => self.stack.remove(slot),
                Kind::Ghost => self.forget(slot),
            }
        }
    }

    /// Forgets a ghost.
    fn forget(&mut self, slot: Slot) {
        self.stack.remove(slot);
        self.unlist_ghost(slot);
        let page = self.pages.release(slot);
        self.ghosts.forget(page, slot);
    }

    /// Takes a ghost out of their list, if they have one.
    fn unlist_ghost(&mut self, slot: Slot) {
        if self.options.most_ghosts.is_some() {
            self.lists.remove(slot);
        }
    }

    /// Lets a page in that nobody has referenced yet; it keeps the place in the stack it may have.
    fn add_unreferenced(&mut self, page: PageId) -> Slot {
        let slot = match self.ghosts.recall(page, &self.pages) {
            Some(slot) => {
                self.unlist_ghost(slot);
                self.set(slot, Kind::High);
                slot
            }
            None => self.new_slot(page, Kind::High),
        };
        self.lists.push_youngest(QUEUE, slot);
        slot
    }

    /// Lets a page in because it is referenced.
    fn add_referenced(&mut self, page: PageId) -> Slot {
        if let Some(slot) = self.ghosts.recall(page, &self.pages) {
            self.unlist_ghost(slot);
            self.promote(slot);
            return slot;
        }
        let low = self.low < self.most_low;
        let slot = self.new_slot(page, if low { Kind::Low } else { Kind::High });
        self.stack.push_youngest(STACK, slot);
        if low {
            self.low += 1;
        } else {
            self.lists.push_youngest(QUEUE, slot);
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
        self.pages.reserve(slots);
        self.kinds.reserve_exact(slots.saturating_sub(self.kinds.len()));
        self.stack.reserve(slots);
        self.lists.reserve(slots);
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
        let in_stack = self.stack.list_of(slot).is_some();
        match self.kind(slot) {
            Kind::Low => {
                let oldest = self.stack.oldest(STACK) == Some(slot);
                self.stack.make_youngest(slot);
                if oldest {
                    self.prune();
                }
            }
            Kind::High if in_stack => {
                self.lists.remove(slot);
                self.promote(slot);
            }
            _ => {
                self.stack.push_youngest(STACK, slot);
                self.lists.make_youngest(slot);
            }
        }
    }

    fn glance(&self, slot: Slot) -> u32 {
        let kind = self.kinds.get(slot.0 as usize).map_or(0, |kind| *kind as u32);
        kind ^ self.pages.glance(slot) ^ self.stack.glance(slot) ^ self.lists.glance(slot)
    }

    fn glance_beside(&self, slot: Slot) -> u32 {
        self.stack.glance_beside(slot)
    }

    fn remove(&mut self, slot: Slot) {
        if self.kind(slot) == Kind::Low {
            self.low -= 1;
        } else {
            self.lists.remove(slot);
        }
        if self.stack.list_of(slot).is_some() {
            self.stack.remove(slot);
        }
        self.pages.release(slot);
        self.last = self.last.filter(|last| *last != slot);
        self.prune();
    }

    fn victim(&mut self) -> Option<PageId> {
        let Some(slot) = self.lists.pop_oldest(QUEUE) else {
            self.prune();
            let slot = self.stack.oldest(STACK)?;
            let page = self.pages.get(slot);
            self.remove(slot);
            return page;
        };
        self.last = self.last.filter(|last| *last != slot);
        if self.stack.list_of(slot).is_none() {
            return Some(self.pages.release(slot));
        }
        let page = self.pages.get(slot)?;
        self.set(slot, Kind::Ghost);
        self.ghosts.insert(page, slot);
        if self.options.most_ghosts.is_some() {
            self.lists.push_youngest(GHOSTS, slot);
            if self.lists.len(GHOSTS) > self.most_ghosts
                && let Some(oldest) = self.lists.oldest(GHOSTS)
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
        self.low + self.lists.len(QUEUE)
    }
}
