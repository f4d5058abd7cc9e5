//! How much memory each region has, and in which order its pages leave (PATH, section 4.1.1).

use super::super::Slot;
use super::balance::{History, Stake, next_move};
use super::curves::{Curves, Order};
use super::map::MOST_REGIONS;
use super::options::RegionOptions;

/// Shortest epoch.
const LEAST_EPOCH: usize = 64;

/// Most times that MRU was given up of late, as far as it matters.
const MOST_ABANDONED: u32 = 6;

/// Epochs for which MRU has to last to have proved right.
const PROVED: u32 = 16;

/// The order of a region, and what is known for and against it.
#[derive(Copy, Clone, Debug)]
struct Region {
    order: Order,
    /// Pages of memory that it has.
    size: usize,
    /// The share of its pages whose uses are told.
    seen: f64,
    /// Epochs in a row in which the other order was better.
    better: u32,
    /// Epochs since the MRU stack began, or MRU was taken.
    age: u32,
    /// How often MRU was given up within an epoch of late.
    abandoned: u32,
    lru: History,
    mru: History,
}

impl Region {
    /// Without memory, and in order of the last use, the order to begin with.
    const NEW: Self = Self {
        order: Order::Lru,
        size: 0,
        seen: 1.0,
        better: 0,
        age: 0,
        abandoned: 0,
        lru: History::NONE,
        mru: History::NONE,
    };

    /// The curve of the order in effect.
    fn curve(&self) -> &History {
        match self.order {
            Order::Lru => &self.lru,
            Order::Mru => &self.mru,
        }
    }
}

/// Memory and order of all regions, decided anew at the end of each epoch by the references that are told.
///
/// These may be those to a sample of the pages alone: the curves are those of the sample then, in memory that is as much
/// smaller (SHARDS; Waldspurger and others, FAST 2015). Sizes are those of all pages.
#[derive(Clone, Debug)]
pub struct Shares {
    options: RegionOptions,
    curves: Curves,
    regions: [Region; MOST_REGIONS],
    count: usize,
    capacity: usize,
    /// Pages in which memory moves.
    step: usize,
    /// The share of all pages whose uses are told.
    rate: f64,
    /// Sum of the regions' sizes.
    allotted: usize,
    /// References until the epoch ends.
    epoch_left: usize,
}

impl Shares {
    /// No region, and no memory.
    pub fn new(options: RegionOptions) -> Self {
        Self {
            options,
            curves: Curves::new(1),
            regions: [Region::NEW; MOST_REGIONS],
            count: 0,
            capacity: 0,
            step: 1,
            rate: 1.0,
            allotted: 0,
            epoch_left: LEAST_EPOCH,
        }
    }

    /// Makes room for the slots below `slots`.
    pub fn reserve(&mut self, slots: usize) {
        self.curves.reserve(slots);
    }

    /// What a step would be with so many pages.
    pub fn step_of(&self, pages: usize) -> usize {
        (pages / self.options.steps.max(1)).max(1)
    }

    /// Changes how much memory there is; what is too much is taken from the largest regions.
    pub fn set_capacity(&mut self, pages: usize) {
        self.capacity = pages;
        self.step = self.step_of(pages);
        self.fit_step();
        self.shrink();
        self.epoch_left = self.epoch_length();
    }

    /// Memory of all regions together.
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// From now on the uses of this share of all pages are told; the pages that are not part of it any more have been
    /// forgotten. All regions have to [see](Self::see) anew.
    pub fn set_rate(&mut self, rate: f64) {
        let factor = rate / self.rate;
        self.rate = rate;
        for region in &mut self.regions {
            region.lru.scale(factor);
            region.mru.scale(factor);
        }
        self.fit_step();
        self.epoch_left = self.epoch_left.min(self.epoch_length());
    }

    /// The uses of this share of a region's pages are told.
    pub fn see(&mut self, region: usize, share: f64) {
        if self.regions[region].seen != share {
            self.regions[region].seen = share;
            self.fit(region);
        }
    }

    fn fit_step(&mut self) {
        self.curves.set_step((self.step as f64 * self.rate).round() as usize);
    }

    /// Tells the curves how much memory a region has.
    fn fit(&mut self, region: usize) {
        let Region { size, seen, .. } = self.regions[region];
        self.curves.resize(region, (size as f64 * seen).round() as usize);
    }

    fn epoch_length(&self) -> usize {
        let references = self.capacity.saturating_mul(self.options.epoch);
        ((references as f64 * self.rate) as usize).max(LEAST_EPOCH)
    }

    /// There are so many regions now; those that are new get memory, if none is left for them otherwise.
    pub fn appear(&mut self, count: usize) {
        for region in self.count..count {
            self.count = region + 1;
            self.begin(region);
        }
    }

    /// Another region begins under the number of one that is over, whose memory it has.
    pub fn renew(&mut self, region: usize) {
        let Region { size, seen, .. } = self.regions[region];
        self.curves.clear(region);
        self.regions[region] = Region { size, seen, ..Region::NEW };
        self.begin(region);
    }

    fn begin(&mut self, region: usize) {
        if self.allotted == self.capacity && self.regions[region].size == 0 {
            let largest = self.largest();
            let most = self.regions[largest].size / 2;
            self.shift(largest, region, self.step.min(most));
        }
    }

    fn largest(&self) -> usize {
        let by_size = |region: &usize| (self.regions[*region].size, usize::MAX - region);
        (0..self.count).max_by_key(by_size).unwrap_or(0)
    }

    /// Moves memory from one region to another.
    fn shift(&mut self, from: usize, to: usize, pages: usize) {
        if from != to && pages > 0 {
            self.regions[from].size -= pages;
            self.regions[to].size += pages;
            self.fit(from);
            self.fit(to);
        }
    }

    /// Gives a region that has more pages than memory a page of the memory that no region has.
    pub fn grow(&mut self, region: usize, pages: usize) {
        if self.allotted < self.capacity && pages > self.regions[region].size {
            self.allotted += 1;
            self.regions[region].size += 1;
            self.fit(region);
        }
    }

    /// Each region in the order of the last use has as much memory as it has pages.
    pub fn adopt(&mut self, pages: &[usize]) {
        for (region, pages) in pages.iter().enumerate().take(self.count) {
            if self.regions[region].order == Order::Lru {
                self.regions[region].size = *pages;
                self.fit(region);
            }
        }
        self.allotted = self.regions.iter().map(|region| region.size).sum();
        self.shrink();
    }

    /// Gives back what exceeds the capacity, from the largest regions.
    fn shrink(&mut self) {
        while self.allotted > self.capacity {
            let largest = self.largest();
            let size = self.regions[largest].size;
            let pages = (self.allotted - self.capacity).min(self.step).min(size);
            self.regions[largest].size -= pages;
            self.allotted -= pages;
            self.fit(largest);
        }
    }

    /// Number of regions.
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Pages of memory that a region has.
    pub const fn size(&self, region: usize) -> usize {
        self.regions[region].size
    }

    /// In which order the pages of a region leave.
    pub const fn order(&self, region: usize) -> Order {
        self.regions[region].order
    }

    /// Whether the epoch ends with the next reference.
    pub const fn is_last(&self) -> bool {
        self.epoch_left == 1
    }

    /// Whether the page at `slot` is in a stack.
    pub fn holds(&self, slot: Slot) -> bool {
        self.curves.holds(slot)
    }

    /// Forgets the page at `slot`.
    pub fn remove(&mut self, region: usize, slot: Slot) {
        self.curves.remove(region, slot);
    }

    /// A slot that was in a stack and is in none any more, each one once.
    pub fn next_gone(&mut self) -> Option<Slot> {
        self.curves.next_gone()
    }

    /// Counts a reference to the page at `slot`, which belongs to `region`; says whether an epoch ended with it.
    pub fn reference(&mut self, region: usize, slot: Slot) -> bool {
        self.curves.access(region, slot);
        self.abandon_mru(region);
        self.epoch_left -= 1;
        let ends = self.epoch_left == 0;
        if ends {
            self.end_epoch();
        }
        ends
    }

    /// Gives up MRU in a region where it turns out to be much worse.
    fn abandon_mru(&mut self, region: usize) {
        if self.regions[region].order == Order::Lru || self.options.abandon.is_infinite() {
            return;
        }
        let misses = |order| self.curves.misses(region, order).present as f64;
        let (lru, mru) = (misses(Order::Lru), misses(Order::Mru));
        let allowed = self.options.abandon * self.epoch_length() as f64;
        if mru - lru > allowed + self.options.noise * lru.sqrt() {
            let state = &mut self.regions[region];
            state.abandoned = (state.abandoned + 1).min(MOST_ABANDONED);
            self.take_lru(region);
        }
    }

    /// From now on the pages of a region leave in the order of the last use; what MRU would hold is what LRU holds.
    fn take_lru(&mut self, region: usize) {
        let state = &mut self.regions[region];
        (state.order, state.better, state.age, state.mru) = (Order::Lru, 0, 0, state.lru);
        self.curves.restart_mru(region);
    }

    fn end_epoch(&mut self) {
        (0..self.count).for_each(|region| self.choose_order(region));
        self.balance();
        (0..self.count).for_each(|region| self.curves.reset(region));
        self.epoch_left = self.epoch_length();
    }

    /// Takes the other order if it was better for long enough.
    fn choose_order(&mut self, region: usize) {
        let lru = self.curves.misses(region, Order::Lru);
        let mru = self.curves.misses(region, Order::Mru);
        let state = &mut self.regions[region];
        // Of a region of which more is seen than of others a miss stands for less.
        let weight = self.rate / state.seen;
        let history = self.options.history.max(1.0);
        state.lru.add(lru, weight, history);
        state.mru.add(mru, weight, history);
        let is_better = |other: f64, present: f64| {
            let less = present * (1.0 - self.options.margin);
            // What a move of memory makes of a curve may be less than nothing.
            other < less - self.options.noise * present.max(0.0).sqrt()
        };
        let better = match state.order {
            Order::Lru => is_better(state.mru.present(), state.lru.present()),
            Order::Mru => is_better(lru.present as f64, mru.present as f64),
        };
        state.better = if better { state.better + 1 } else { 0 };
        state.age += 1;
        let patience = self.options.patience.max(1);
        match state.order {
            Order::Lru if state.better >= patience << state.abandoned => {
                (state.order, state.better, state.age) = (Order::Mru, 0, 0);
            }
            Order::Lru if state.age >= self.options.restart.max(1) && state.better == 0 => {
                self.take_lru(region);
            }
            Order::Mru if state.better >= patience => self.take_lru(region),
            Order::Mru if state.age >= PROVED => state.abandoned = 0,
            _ => {}
        }
    }

    /// Moves steps of memory to where they save most misses.
    fn balance(&mut self) {
        let count = self.count;
        let mut stakes = [Stake { curve: None, gives: false }; MOST_REGIONS];
        for (region, stake) in stakes.iter_mut().enumerate().take(count) {
            let gives = self.regions[region].size > self.step;
            *stake = Stake { curve: Some(*self.regions[region].curve()), gives };
        }
        while let Some((from, to)) = next_move(&mut stakes[..count], self.options.margin) {
            self.shift(from, to, self.step);
            for history in [&mut self.regions[from].lru, &mut self.regions[from].mru] {
                history.shrunk();
            }
            for history in [&mut self.regions[to].lru, &mut self.regions[to].mru] {
                history.grown();
            }
        }
    }

    /// The region that has most pages beyond its memory, of those that have pages to give; `pages` tells how many one has.
    pub fn most_above(
        &self,
        pages: impl Fn(usize) -> usize,
        gives: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let regions = (0..self.count).filter(|region| gives(*region));
        regions.max_by_key(|&region| (self.above(region, pages(region)), usize::MAX - region))
    }

    /// How many more pages than memory a region has, if it has so many pages.
    pub const fn above(&self, region: usize, pages: usize) -> i64 {
        pages as i64 - self.regions[region].size as i64
    }
}
