//! CLOCK-Pro (Jiang, Chen and Zhang, USENIX 2005).

use farside_trace::PageId;

use super::list::{Lists, SlotPages};
use super::page_index::PageIndex;
use super::{Arrival, ReplacementPolicy, Slot};

/// Hot pages and those in their test period, in the order in which the hot hand comes by.
const CLOCK: usize = 0;

/// Pages in their test period, in the order in which the test hand comes by.
const TEST: usize = 0;

/// Resident cold pages, in the order in which the cold hand comes by.
const COLD: usize = 0;

/// What a page is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// Stays until the hot hand finds it unused. Always resident and in the clock.
    Hot,
    /// Resident, leaves next.
    Cold,
    /// Not resident, in its test period.
    Ghost,
}

/// What is known of a page besides its places in the lists.
#[derive(Copy, Clone, Debug)]
struct State {
    kind: Kind,
    /// Used since a hand came by.
    used: bool,
}

/// What the paper leaves to its user.
#[derive(Copy, Clone, Debug)]
pub struct ClockProOptions {
    /// Smallest share of the memory for cold pages, in thousandths; at least [`Self::least_cold`].
    pub cold_permille: usize,
    /// Fewest pages for cold pages.
    pub least_cold: usize,
    /// Whether the share of cold pages adapts to what is found when test periods end.
    pub adaptive: bool,
}

impl Default for ClockProOptions {
    /// The share that the authors begin with, and adaptation.
    fn default() -> Self {
        Self { cold_permille: 10, least_cold: 2, adaptive: true }
    }
}

/// LIRS by reference bits: pages that are used again during a test period after their arrival stay,
/// others leave.
///
/// As the paper has it, all pages are in one circle, and three hands go around it. Here the circle
/// is three lists, so that a hand finds the next page of its kind at once; the order in which each
/// hand meets its pages is the same:
/// - The *cold hand* looks for a victim. It evicts cold pages that were not used; one in its test
///   period stays in the circle without being resident. A page used in its test period turns hot.
///   One used later than that goes back to the head of the circle and begins a new test period.
/// - The *hot hand* moves when there are more hot pages than there should be. It spares hot pages
///   that were used, turns the first one that was not cold, and ends the test periods it comes by.
///   Then it goes on to the next hot page.
/// - The *test hand* ends the oldest test periods as soon as more pages are remembered than memory
///   holds.
///
/// A page that comes back in its test period turns hot at once. The number of cold pages to keep
/// grows by one whenever a page is used in its test period, and shrinks by one with each test
/// period that ends unused.
///
/// Choices beyond that:
/// - While there is room, pages arrive hot until only the share of cold pages is left, as in LIRS.
/// - A page turned cold by the hot hand is last in the cold hand's order and in no test period.
/// - The cold hand meets resident cold pages first in, first out, also when the hot hand overtakes
///   it.
/// - A use that no cold hand has noticed yet when the test period ends counts neither way.
/// - A prefetched page begins its test period when the cold hand has seen that it was used.
#[derive(Clone, Debug)]
pub struct ClockPro {
    options: ClockProOptions,
    pages: SlotPages,
    states: Vec<State>,
    clock: Lists<1>,
    test: Lists<1>,
    cold: Lists<1>,
    ghosts: PageIndex,
    hot: usize,
    capacity: usize,
    least_cold: usize,
    /// Cold pages to keep: m_c.
    cold_target: usize,
}

impl ClockPro {
    /// A policy without pages, with the parameters of the paper.
    pub fn new() -> Self {
        Self::with_options(ClockProOptions::default())
    }

    /// A policy without pages.
    pub fn with_options(options: ClockProOptions) -> Self {
        Self {
            options,
            pages: SlotPages::new(),
            states: Vec::new(),
            clock: Lists::new(),
            test: Lists::new(),
            cold: Lists::new(),
            ghosts: PageIndex::new(),
            hot: 0,
            capacity: 0,
            least_cold: 0,
            cold_target: 0,
        }
    }

    fn kind(&self, slot: Slot) -> Kind {
        self.states[slot.0 as usize].kind
    }

    fn set(&mut self, slot: Slot, kind: Kind) {
        self.states[slot.0 as usize] = State { kind, used: false };
    }

    fn new_slot(&mut self, page: PageId, kind: Kind) -> Slot {
        let slot = self.pages.insert(page);
        let index = slot.0 as usize;
        let state = State { kind, used: false };
        if index >= self.states.len() {
            self.states.resize(index + 1, state);
        }
        self.states[index] = state;
        slot
    }

    fn in_test(&self, slot: Slot) -> bool {
        self.test.list_of(slot).is_some()
    }

    /// Puts a page at the head of the circle and begins its test period.
    fn begin_test(&mut self, slot: Slot) {
        self.clock.push_youngest(CLOCK, slot);
        self.test.push_youngest(TEST, slot);
    }

    /// Takes a page whose test period ends out of the circle.
    fn leave_test(&mut self, slot: Slot) {
        self.clock.remove(slot);
        self.test.remove(slot);
    }

    /// Ends a test period that led to nothing; a page that is not resident is forgotten.
    fn fail_test(&mut self, slot: Slot) {
        self.leave_test(slot);
        if !self.states[slot.0 as usize].used && self.options.adaptive {
            self.cold_target = (self.cold_target.saturating_sub(1)).max(self.least_cold);
        }
        if self.kind(slot) == Kind::Ghost {
            let page = self.pages.release(slot);
            self.ghosts.remove_slot(page, slot);
        }
    }

    /// Makes a page hot that was used in its test period, which must have ended.
    fn promote(&mut self, slot: Slot) {
        self.set(slot, Kind::Hot);
        self.hot += 1;
        self.clock.push_youngest(CLOCK, slot);
        if self.options.adaptive {
            self.cold_target = (self.cold_target + 1).min(self.capacity).max(self.least_cold);
        }
        self.turn_hot_hand();
    }

    /// Moves the hot hand until there are not too many hot pages, and then on to a hot page.
    fn turn_hot_hand(&mut self) {
        while self.hot > self.capacity.saturating_sub(self.cold_target) {
            self.step_hot_hand();
        }
        self.pass_tests();
    }

    /// Moves the hot hand by one page: spares it, turns it cold or ends its test period.
    fn step_hot_hand(&mut self) {
        let Some(slot) = self.clock.oldest(CLOCK) else { return };
        if self.kind(slot) != Kind::Hot {
            self.fail_test(slot);
        } else if std::mem::take(&mut self.states[slot.0 as usize].used) {
            self.clock.make_youngest(slot);
        } else {
            self.clock.remove(slot);
            self.hot -= 1;
            self.set(slot, Kind::Cold);
            self.cold.push_youngest(COLD, slot);
        }
    }

    /// Ends the test periods that the hot hand comes by until it is at a hot page, if there is one.
    fn pass_tests(&mut self) {
        while self.hot > 0
            && let Some(slot) = self.clock.oldest(CLOCK)
            && self.kind(slot) != Kind::Hot
        {
            self.fail_test(slot);
        }
    }

    /// Ends the oldest test periods while more pages are remembered than memory holds.
    fn turn_test_hand(&mut self) {
        while self.ghosts.len() > self.capacity
            && let Some(slot) = self.test.oldest(TEST)
        {
            self.fail_test(slot);
        }
    }

    /// Decides about the resident cold page that the cold hand is at; tells which page left, if it.
    fn turn_cold_hand(&mut self, slot: Slot) -> Option<PageId> {
        self.cold.remove(slot);
        let in_test = self.in_test(slot);
        if !self.states[slot.0 as usize].used {
            return if in_test { self.make_ghost(slot) } else { Some(self.pages.release(slot)) };
        }
        if in_test {
            self.leave_test(slot);
            self.promote(slot);
        } else {
            self.states[slot.0 as usize].used = false;
            self.begin_test(slot);
            self.cold.push_youngest(COLD, slot);
        }
        None
    }

    fn make_ghost(&mut self, slot: Slot) -> Option<PageId> {
        let page = self.pages.get(slot)?;
        self.set(slot, Kind::Ghost);
        self.ghosts.insert(page, slot);
        self.turn_test_hand();
        Some(page)
    }

    /// Lets a page in that nobody references now; it keeps the test period it may be in.
    fn add_unreferenced(&mut self, page: PageId) -> Slot {
        let slot = match self.ghosts.remove(page, |slot| self.pages.get(slot)) {
            Some(slot) => {
                self.set(slot, Kind::Cold);
                slot
            }
            None => self.new_slot(page, Kind::Cold),
        };
        self.cold.push_youngest(COLD, slot);
        slot
    }
}

impl Default for ClockPro {
    fn default() -> Self {
        Self::new()
    }
}

impl ReplacementPolicy for ClockPro {
    fn name(&self) -> &'static str {
        "clock-pro"
    }

    fn set_capacity(&mut self, pages: usize) {
        let share = pages.saturating_mul(self.options.cold_permille) / 1000;
        self.capacity = pages;
        self.least_cold = share.max(self.options.least_cold).min(pages);
        self.cold_target = match self.options.adaptive {
            true => self.cold_target.clamp(self.least_cold, pages),
            false => self.least_cold,
        };
        let slots = pages.saturating_mul(2).saturating_add(1);
        self.pages.reserve(slots);
        self.states.reserve_exact(slots.saturating_sub(self.states.len()));
        self.clock.reserve(slots);
        self.test.reserve(slots);
        self.cold.reserve(slots);
        self.ghosts.reserve(pages.saturating_add(1));
        self.turn_hot_hand();
        self.turn_test_hand();
    }

    fn insert(&mut self, page: PageId, arrival: Arrival) -> Slot {
        if arrival == Arrival::Prefetch {
            return self.add_unreferenced(page);
        }
        if let Some(slot) = self.ghosts.remove(page, |slot| self.pages.get(slot)) {
            self.leave_test(slot);
            self.promote(slot);
            return slot;
        }
        if self.len() < self.capacity.saturating_sub(self.cold_target) {
            let slot = self.new_slot(page, Kind::Hot);
            self.hot += 1;
            self.clock.push_youngest(CLOCK, slot);
            return slot;
        }
        let slot = self.new_slot(page, Kind::Cold);
        self.begin_test(slot);
        self.cold.push_youngest(COLD, slot);
        slot
    }

    fn access(&mut self, slot: Slot) {
        self.states[slot.0 as usize].used = true;
    }

    fn remove(&mut self, slot: Slot) {
        if self.in_test(slot) {
            self.leave_test(slot);
        }
        if self.kind(slot) == Kind::Hot {
            self.clock.remove(slot);
            self.hot -= 1;
        } else {
            self.cold.remove(slot);
        }
        self.pages.release(slot);
        self.pass_tests();
    }

    fn victim(&mut self) -> Option<PageId> {
        loop {
            let Some(slot) = self.cold.oldest(COLD) else {
                if self.hot == 0 {
                    return None;
                }
                self.step_hot_hand();
                continue;
            };
            let victim = self.turn_cold_hand(slot);
            if victim.is_some() {
                return victim;
            }
        }
    }

    fn restore(&mut self, page: PageId) -> Slot {
        self.add_unreferenced(page)
    }

    fn len(&self) -> usize {
        self.hot + self.cold.len(COLD)
    }
}
