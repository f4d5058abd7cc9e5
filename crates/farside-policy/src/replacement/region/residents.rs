//! The resident pages of all regions, in the order of their last use.

use super::super::Slot;
use super::super::list::Lists;
use super::Order;
use super::map::MOST_REGIONS;

/// The list of the pages that were used last, of whatever region; those before it are the regions'.
const HOT: usize = MOST_REGIONS;

/// Resident pages by region, apart from a number of pages used last, which do not leave as long as
/// there are others.
#[derive(Clone, Debug)]
pub struct Residents {
    lists: Lists<{ MOST_REGIONS + 1 }>,
    /// By slot.
    region_of: Vec<u8>,
    /// Pages of each region, hot ones included.
    pages: [usize; MOST_REGIONS],
    most_hot: usize,
}

impl Residents {
    /// Without pages.
    pub fn new() -> Self {
        Self { lists: Lists::new(), region_of: Vec::new(), pages: [0; MOST_REGIONS], most_hot: 0 }
    }

    /// Makes room for the slots below `slots`.
    pub fn reserve(&mut self, slots: usize) {
        self.lists.reserve(slots);
        self.region_of.reserve_exact(slots.saturating_sub(self.region_of.len()));
    }

    /// Changes how many pages used last are kept apart.
    pub fn set_most_hot(&mut self, pages: usize) {
        self.most_hot = pages;
        self.cool();
    }

    /// Says which region the page at `slot` belongs to, resident or not.
    pub fn assign(&mut self, slot: Slot, region: usize) {
        let index = slot.0 as usize;
        if index >= self.region_of.len() {
            self.region_of.resize(index + 1, 0);
        }
        self.region_of[index] = region as u8;
    }

    /// The region of the page at `slot`.
    pub fn region_of(&self, slot: Slot) -> usize {
        usize::from(self.region_of[slot.0 as usize])
    }

    /// Resident pages of a region.
    pub fn len(&self, region: usize) -> usize {
        self.pages[region]
    }

    /// Whether the page at `slot` is resident.
    pub fn contains(&self, slot: Slot) -> bool {
        self.lists.list_of(slot).is_some()
    }

    /// Whether a region has pages that may leave before the hot ones.
    pub fn has_cold(&self, region: usize) -> bool {
        !self.lists.is_empty(region)
    }

    /// A page becomes resident, as the one used last in its region.
    pub fn add_youngest(&mut self, slot: Slot) {
        self.pages[self.region_of(slot)] += 1;
        self.lists.push_youngest(HOT, slot);
        self.cool();
    }

    /// A page becomes resident, as the one in its region that was not used for longest.
    pub fn add_oldest(&mut self, slot: Slot) {
        let region = self.region_of(slot);
        self.pages[region] += 1;
        self.lists.push_oldest(region, slot);
    }

    /// A resident page is used.
    pub fn touch(&mut self, slot: Slot) {
        self.lists.remove(slot);
        self.lists.push_youngest(HOT, slot);
        self.cool();
    }

    /// A page is not resident any more.
    pub fn remove(&mut self, slot: Slot) {
        self.pages[self.region_of(slot)] -= 1;
        self.lists.remove(slot);
    }

    /// The page of a region that leaves first in an order, hot ones aside.
    pub fn first_to_leave(&self, region: usize, order: Order) -> Option<Slot> {
        match order {
            Order::Lru => self.lists.oldest(region),
            Order::Mru => self.lists.youngest(region),
        }
    }

    /// The hot page that was not used for longest.
    pub fn oldest_hot(&self) -> Option<Slot> {
        self.lists.oldest(HOT)
    }

    /// Gives pages that are not among those used last any more to their regions.
    fn cool(&mut self) {
        while self.lists.len(HOT) > self.most_hot
            && let Some(slot) = self.lists.pop_oldest(HOT)
        {
            self.lists.push_youngest(self.region_of(slot), slot);
        }
    }
}
