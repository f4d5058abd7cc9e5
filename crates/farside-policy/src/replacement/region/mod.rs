//! Region-specific replacement (PATH, section 4.1.1).

mod balance;
mod curves;
mod map;
mod residents;

pub use curves::{Curves, Misses, Order};
pub use map::{MOST_REGIONS, RegionMap, RegionMapError};

use farside_trace::PageId;

use super::list::SlotPages;
use super::page_index::PageIndex;
use super::{Arrival, ReplacementPolicy, Slot};
use balance::{History, Stake, next_move};
use residents::Residents;

/// Page numbers between regions unless told otherwise: 16 MiB.
const DEFAULT_GAP: u64 = 4096;

/// Most regions found unless told otherwise; the paper saw fewer than ten in a program.
const DEFAULT_REGIONS: usize = 16;

/// Shortest epoch.
const LEAST_EPOCH: usize = 64;

/// What the paper leaves open.
#[derive(Copy, Clone, Debug)]
pub struct RegionOptions {
    /// The parameter g, the step in which memory moves, is the capacity divided by this.
    pub steps: usize,
    /// Length of an epoch in references, as a multiple of the capacity; at least 64 references.
    pub epoch: usize,
    /// About how many of the latest epochs decide.
    pub history: f64,
    /// Epochs in a row in which the other order must be better before a region takes it.
    pub patience: u32,
    /// An order, or a move of memory, is better if it is so by more than this share.
    pub margin: f64,
    /// Epochs after which what MRU would hold is derived anew from what LRU holds.
    pub restart: u32,
    /// Pages that do not leave because they were used last, of all regions together; at most half
    /// the capacity. Where hardware hides the accesses to hot pages from the policy, this has to be
    /// about as many pages as the hardware does.
    pub hot: usize,
}

impl Default for RegionOptions {
    /// Values that did well on the traces of the tests; the paper gives none.
    fn default() -> Self {
        Self { steps: 32, epoch: 1, history: 8.0, patience: 2, margin: 0.05, restart: 64, hot: 0 }
    }
}

/// The order of a region, and what is known for and against it.
#[derive(Copy, Clone, Debug)]
struct Region {
    order: Order,
    /// Epochs in a row in which the other order was better.
    better: u32,
    /// Epochs since the MRU stack began.
    age: u32,
    lru: History,
    mru: History,
}

impl Region {
    fn new(order: Order) -> Self {
        Self { order, better: 0, age: 0, lru: History::default(), mru: History::default() }
    }

    /// The curve of the order in effect.
    fn curve(&mut self) -> &mut History {
        match self.order {
            Order::Lru => &mut self.lru,
            Order::Mru => &mut self.mru,
        }
    }
}

/// Keeps a replacement order and an amount of memory for each region of the address space.
///
/// For each region the misses of LRU and of MRU are counted side by side, for the memory it has,
/// for a step less and for a step more. At the end of an epoch a region whose other order was
/// better several epochs running takes that one, and steps of memory move from regions that lose
/// little by it to those that win more. Epochs are counted in references.
///
/// Beyond the paper:
/// - An epoch may be shorter than the loops of a program, and MRU keeps a stretch of a loop, so
///   that its hits come together. MRU must therefore be better, and memory more useful elsewhere,
///   over the latest epochs together. LRU, the order to begin with, need only be better in single
///   epochs.
/// - While memory is not full, a region has as much as it uses. A region that appears later gets a
///   step of the largest.
/// - The victim is a page of the region of the expected page if that one has used up its memory,
///   and else of the region that is most above it. So pages move from region to region one by one.
/// - The MRU stack is exact (see [`Curves`]) and therefore holds on to pages the program has left
///   behind. It is begun anew from the LRU stack from time to time while LRU is in effect.
/// - Pages used last can be kept from leaving ([`RegionOptions::hot`]). PATH takes pages in the page
///   access buffer to be in memory always (section 1), and does not record accesses to them: MRU
///   would give up just those, and not see them missed.
/// - A prefetched page enters an MRU region at the end that leaves last.
#[derive(Clone, Debug)]
pub struct RegionSpecific {
    options: RegionOptions,
    map: RegionMap,
    pages: SlotPages,
    resident: Residents,
    /// Pages that are not resident but in a stack.
    ghosts: PageIndex,
    curves: Curves,
    regions: [Region; MOST_REGIONS],
    capacity: usize,
    /// Sum of the regions' sizes.
    allotted: usize,
    resident_pages: usize,
    /// References until the epoch ends.
    epoch_left: usize,
    /// Region of the page that arrives next.
    expected: Option<usize>,
}

impl Default for RegionMap {
    /// Stretches of pages 16 MiB or more apart, at most 16.
    fn default() -> Self {
        Self::by_gap(DEFAULT_GAP, DEFAULT_REGIONS)
    }
}

impl RegionSpecific {
    /// A policy without pages whose regions are stretches of pages 16 MiB or more apart, at most
    /// 16.
    pub fn new() -> Self {
        Self::with_options(RegionMap::default(), RegionOptions::default())
    }

    /// A policy without pages.
    pub fn with_options(map: RegionMap, options: RegionOptions) -> Self {
        Self {
            options,
            map,
            pages: SlotPages::new(),
            resident: Residents::new(),
            ghosts: PageIndex::new(),
            curves: Curves::new(1),
            regions: [Region::new(Order::Lru); MOST_REGIONS],
            capacity: 0,
            allotted: 0,
            resident_pages: 0,
            epoch_left: LEAST_EPOCH,
            expected: None,
        }
    }

    /// Order and memory in pages of each region, by its number.
    pub fn regions(&self) -> impl Iterator<Item = (Order, usize)> + '_ {
        (0..self.map.len()).map(|region| (self.regions[region].order, self.curves.size(region)))
    }

    fn epoch_length(&self) -> usize {
        self.capacity.saturating_mul(self.options.epoch).max(LEAST_EPOCH)
    }

    /// The region of `page`; a new one gets memory.
    fn region(&mut self, page: PageId) -> usize {
        let known = self.map.len();
        let region = self.map.region_of(page);
        if self.map.len() > known && self.allotted == self.capacity {
            let largest = self.largest();
            let most = self.curves.size(largest) / 2;
            self.shift(largest, region, self.curves.step().min(most));
        }
        region
    }

    fn largest(&self) -> usize {
        let by_size = |region: &usize| (self.curves.size(*region), usize::MAX - region);
        (0..self.map.len()).max_by_key(by_size).unwrap_or(0)
    }

    /// Moves memory from one region to another.
    fn shift(&mut self, from: usize, to: usize, pages: usize) {
        if from != to && pages > 0 {
            self.curves.resize(from, self.curves.size(from) - pages);
            self.curves.resize(to, self.curves.size(to) + pages);
            self.release_gone();
        }
    }

    /// Gives a region that uses more than it has of the memory that no region has.
    fn grow(&mut self, region: usize) {
        if self.allotted < self.capacity && self.resident.len(region) > self.curves.size(region) {
            self.allotted += 1;
            self.curves.resize(region, self.curves.size(region) + 1);
        }
    }

    /// Gives back what exceeds the capacity, from the largest regions.
    fn shrink(&mut self) {
        while self.allotted > self.capacity {
            let largest = self.largest();
            let size = self.curves.size(largest);
            let pages = (self.allotted - self.capacity).min(self.curves.step()).min(size);
            self.curves.resize(largest, size - pages);
            self.allotted -= pages;
        }
        self.release_gone();
    }

    fn new_slot(&mut self, page: PageId, region: usize) -> Slot {
        let slot = self.pages.insert(page);
        self.resident.assign(slot, region);
        slot
    }

    /// Makes a page resident, at the end of its region that leaves first or last.
    fn admit(&mut self, page: PageId, referenced: bool) -> Slot {
        let region = self.region(page);
        let slot = match self.ghosts.remove(page, |slot| self.pages.get(slot)) {
            Some(slot) => slot,
            None => self.new_slot(page, region),
        };
        if referenced || self.regions[region].order == Order::Lru {
            self.resident.add_youngest(slot);
        } else {
            self.resident.add_oldest(slot);
        }
        self.resident_pages += 1;
        self.grow(region);
        slot
    }

    /// Counts a reference to a resident page.
    fn reference(&mut self, slot: Slot) {
        self.curves.access(self.resident.region_of(slot), slot);
        self.release_gone();
        self.epoch_left -= 1;
        if self.epoch_left == 0 {
            self.end_epoch();
        }
    }

    /// Forgets pages that are neither in a stack nor resident.
    fn release_gone(&mut self) {
        while let Some(slot) = self.curves.next_gone() {
            if !self.resident.contains(slot) {
                let page = self.pages.release(slot);
                self.ghosts.remove_slot(page, slot);
            }
        }
    }

    fn end_epoch(&mut self) {
        (0..self.map.len()).for_each(|region| self.choose_order(region));
        self.balance();
        (0..self.map.len()).for_each(|region| self.curves.reset(region));
        self.release_gone();
        self.epoch_left = self.epoch_length();
    }

    /// Takes the other order if it was better for long enough.
    fn choose_order(&mut self, region: usize) {
        let lru = self.curves.misses(region, Order::Lru);
        let mru = self.curves.misses(region, Order::Mru);
        let state = &mut self.regions[region];
        state.lru.add(lru, self.options.history.max(1.0));
        state.mru.add(mru, self.options.history.max(1.0));
        let less = 1.0 - self.options.margin;
        let better = match state.order {
            Order::Lru => state.mru.present() < state.lru.present() * less,
            Order::Mru => (lru.present as f64) < mru.present as f64 * less,
        };
        state.better = if better { state.better + 1 } else { 0 };
        state.age += 1;
        let switch = state.better >= self.options.patience.max(1);
        if switch {
            state.order = if state.order == Order::Lru { Order::Mru } else { Order::Lru };
            (state.better, state.age) = (0, 0);
        }
        let due = switch || state.age >= self.options.restart.max(1);
        if due && state.order == Order::Lru && state.better == 0 {
            (state.age, state.mru) = (0, state.lru);
            self.curves.restart_mru(region);
        }
    }

    /// Moves steps of memory to where they save most misses.
    fn balance(&mut self) {
        let count = self.map.len();
        let mut stakes = [Stake { curve: None, gives: false }; MOST_REGIONS];
        for (region, stake) in stakes.iter_mut().enumerate().take(count) {
            let gives = self.curves.size(region) > self.curves.step();
            *stake = Stake { curve: Some(*self.regions[region].curve()), gives };
        }
        while let Some((from, to)) = next_move(&mut stakes[..count], self.options.margin) {
            self.shift(from, to, self.curves.step());
            for history in [&mut self.regions[from].lru, &mut self.regions[from].mru] {
                history.shrunk();
            }
            for history in [&mut self.regions[to].lru, &mut self.regions[to].mru] {
                history.grown();
            }
        }
    }

    /// The region that gives up a page; `None` if only hot ones are left.
    fn giving(&self) -> Option<usize> {
        let excess =
            |region: usize| self.resident.len(region) as i64 - self.curves.size(region) as i64;
        let cold = |region: &usize| self.resident.has_cold(*region);
        let own = self.expected.filter(|region| cold(region) && excess(*region) >= 0);
        let regions = (0..self.map.len()).filter(cold);
        own.or_else(|| regions.max_by_key(|&region| (excess(region), usize::MAX - region)))
    }
}

impl Default for RegionSpecific {
    fn default() -> Self {
        Self::new()
    }
}

impl ReplacementPolicy for RegionSpecific {
    fn name(&self) -> &'static str {
        "region"
    }

    fn set_capacity(&mut self, pages: usize) {
        self.capacity = pages;
        let step = (pages / self.options.steps.max(1)).max(1);
        let ghosts = Curves::most_slots(pages, step, self.map.most());
        let slots = ghosts.saturating_add(pages).saturating_add(2);
        self.pages.reserve(slots);
        self.resident.reserve(slots);
        self.resident.set_most_hot(self.options.hot.min(pages / 2));
        self.curves.reserve(slots);
        self.ghosts.reserve(ghosts.saturating_add(2));
        self.curves.set_step(step);
        self.shrink();
        self.epoch_left = self.epoch_length();
    }

    fn expect(&mut self, page: PageId) {
        self.expected = Some(self.region(page));
    }

    fn insert(&mut self, page: PageId, arrival: Arrival) -> Slot {
        self.expected = None;
        let referenced = arrival != Arrival::Prefetch;
        let slot = self.admit(page, referenced);
        if referenced {
            self.reference(slot);
        }
        slot
    }

    fn access(&mut self, slot: Slot) {
        self.resident.touch(slot);
        self.reference(slot);
    }

    fn remove(&mut self, slot: Slot) {
        self.resident.remove(slot);
        self.resident_pages -= 1;
        self.curves.remove(self.resident.region_of(slot), slot);
        self.pages.release(slot);
        self.release_gone();
    }

    fn victim(&mut self) -> Option<PageId> {
        let slot = match self.giving() {
            Some(region) => self.resident.first_to_leave(region, self.regions[region].order)?,
            None => self.resident.oldest_hot()?,
        };
        self.resident.remove(slot);
        self.resident_pages -= 1;
        if self.curves.holds(slot) {
            let page = self.pages.get(slot)?;
            self.ghosts.insert(page, slot);
            return Some(page);
        }
        Some(self.pages.release(slot))
    }

    fn restore(&mut self, page: PageId) -> Slot {
        self.admit(page, false)
    }

    fn len(&self) -> usize {
        self.resident_pages
    }
}
