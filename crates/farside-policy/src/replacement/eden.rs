//! Timestamped lists (Eden, section 4: *LRU*, with the priority levels of *priority*).

use farside_trace::PageId;

use super::list::{Lists, SlotPages};
use super::{Arrival, ReplacementPolicy, Slot};

/// Most lists, or generations, there can be.
pub const MOST_GENERATIONS: usize = 8;

/// Most priorities within a list.
const MOST_PRIORITIES: usize = 4;

/// A list for each generation and priority.
const LISTS: usize = MOST_GENERATIONS * MOST_PRIORITIES;

/// The parameters that Eden leaves to its user.
#[derive(Copy, Clone, Debug)]
pub struct EdenOptions {
    /// Number of lists, from 2 to [`MOST_GENERATIONS`].
    pub generations: usize,
    /// Number of priorities within a list, from 1 to 4.
    pub priorities: usize,
}

impl Default for EdenOptions {
    /// Eight lists, the most that Eden provides for, and two priorities, as Eden has by default.
    fn default() -> Self {
        Self { generations: MOST_GENERATIONS, priorities: 2 }
    }
}

/// When a page was listed, and when it was used last since then.
#[derive(Copy, Clone, Debug, Default)]
struct Times {
    listed: u64,
    /// Zero if it was not used.
    used: u64,
    priority: u8,
}

/// Approximates LRU by a few lists: a use leaves a timestamp, and a page is moved only when it
/// could leave.
///
/// Pages arrive in the topmost list. The victim is looked for in the lowest, oldest page of the
/// highest priority first: a page not used since it was listed is evicted, any other is bumped to
/// one of the lists above, the higher the more recent its last use. When the lowest list is empty,
/// it becomes the topmost. A page's priority is told by
/// [`prioritize`](ReplacementPolicy::prioritize); it is 0, the lowest, at first, and kept when the
/// page is bumped.
///
/// The paper has no formula for *how recent*, and its time is that of a clock. Here time counts the
/// references that are seen, and the last use is set against the time since the page was listed: of
/// the N - 1 lists above, a page goes to the topmost if it was used in the latest N-1st of that
/// time, to the one below if in the N-1st before, and so on.
#[derive(Clone, Debug)]
pub struct Eden {
    pages: SlotPages,
    lists: Lists<LISTS>,
    times: Vec<Times>,
    generations: usize,
    priorities: usize,
    /// The lowest generation.
    lowest: usize,
    now: u64,
}

impl Eden {
    /// A policy without pages, with default parameters.
    pub fn new() -> Self {
        Self::with_options(EdenOptions::default())
    }

    /// A policy without pages; parameters out of their range are taken to its nearest end.
    pub fn with_options(options: EdenOptions) -> Self {
        Self {
            pages: SlotPages::new(),
            lists: Lists::new(),
            times: Vec::new(),
            generations: options.generations.clamp(2, MOST_GENERATIONS),
            priorities: options.priorities.clamp(1, MOST_PRIORITIES),
            lowest: 0,
            now: 0,
        }
    }

    /// The list of the generation that is `above` the lowest by so many.
    fn list(&self, above: usize, priority: u8) -> usize {
        (self.lowest + above) % self.generations * MOST_PRIORITIES + usize::from(priority)
    }

    /// Puts a page in a list as one that was not used since.
    fn place(&mut self, slot: Slot, above: usize, priority: u8) {
        self.times[slot.0 as usize] = Times { listed: self.now, used: 0, priority };
        self.lists.push_youngest(self.list(above, priority), slot);
    }

    /// How far up a page of the lowest list is to be bumped; `None` if it was not used.
    fn bump(&self, slot: Slot) -> Option<usize> {
        let Times { listed, used, .. } = self.times[slot.0 as usize];
        if used == 0 {
            return None;
        }
        let steps = (self.generations - 1) as u64;
        let below_top = (self.now - used) * steps / (self.now - listed).max(1);
        Some((steps - below_top.min(steps - 1)) as usize)
    }

    /// The page of the lowest list that leaves or is bumped next.
    fn candidate(&self) -> Option<Slot> {
        let priorities = (0..self.priorities).rev();
        priorities.map(|priority| self.list(0, priority as u8)).find_map(|l| self.lists.oldest(l))
    }
}

impl Default for Eden {
    fn default() -> Self {
        Self::new()
    }
}

impl ReplacementPolicy for Eden {
    fn name(&self) -> &'static str {
        "eden"
    }

    fn set_capacity(&mut self, pages: usize) {
        self.pages.reserve(pages);
        self.lists.reserve(pages);
        self.times.reserve_exact(pages.saturating_sub(self.times.len()));
    }

    fn insert(&mut self, page: PageId, _arrival: Arrival) -> Slot {
        self.now += 1;
        let slot = self.pages.insert(page);
        let index = slot.0 as usize;
        if index >= self.times.len() {
            self.times.resize(index + 1, Times::default());
        }
        self.place(slot, self.generations - 1, 0);
        slot
    }

    fn access(&mut self, slot: Slot) {
        self.now += 1;
        self.times[slot.0 as usize].used = self.now;
    }

    fn prioritize(&mut self, slot: Slot, priority: u8) {
        let priority = priority.min(self.priorities as u8 - 1);
        let Some(list) = self.lists.list_of(slot) else { return };
        let generation = list / MOST_PRIORITIES * MOST_PRIORITIES;
        self.times[slot.0 as usize].priority = priority;
        if list != generation + usize::from(priority) {
            self.lists.remove(slot);
            self.lists.push_youngest(generation + usize::from(priority), slot);
        }
    }

    fn remove(&mut self, slot: Slot) {
        self.lists.remove(slot);
        self.pages.release(slot);
    }

    fn victim(&mut self) -> Option<PageId> {
        while !self.pages.is_empty() {
            let Some(slot) = self.candidate() else {
                self.lowest = (self.lowest + 1) % self.generations;
                continue;
            };
            self.lists.remove(slot);
            match self.bump(slot) {
                Some(above) => self.place(slot, above, self.times[slot.0 as usize].priority),
                None => return Some(self.pages.release(slot)),
            }
        }
        None
    }

    fn restore(&mut self, page: PageId) -> Slot {
        self.insert(page, Arrival::Demand)
    }

    fn len(&self) -> usize {
        self.pages.len()
    }
}
