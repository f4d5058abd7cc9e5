//! Region-specific replacement in a run, where few uses are seen (PATH, section 4.1.1).

use farside_trace::{PageId, PageRange, PageSample};

use super::super::list::{Lists, SlotPages};
use super::super::{Arrival, ReplacementPolicy, Slot};
use super::map::{MOST_REGIONS, RegionMap};
use super::options::RegionOptions;
use super::sampled::Sampled;
use super::shares::Shares;
use super::{Curves, Order};

/// The first of the lists of pages whose uses cannot be seen: one for each region.
const MAPPED: usize = 0;

/// The first of the lists of pages whose next use will be seen.
const WATCHED: usize = MOST_REGIONS;

/// Pages that came last, of whatever region.
const FRESH: usize = 2 * MOST_REGIONS;

/// Pages that the program is done with.
const DONE: usize = FRESH + 1;

const LISTS: usize = DONE + 1;

/// Of the pages of a region that leave in the order of their last use, one in so many is watched.
const WATCHED_ONE_IN: usize = 8;

/// Pages that may be watched for each that leaves.
const WATCHED_FOR_ONE: usize = 32;

/// One page in so many stays because it came last; at least [`LEAST_FRESH`] and at most [`MOST_FRESH`].
const FRESH_ONE_IN: usize = 16;

/// A single instruction can need several pages at once.
const LEAST_FRESH: usize = 32;

/// As many as the paper's page access buffer has.
const MOST_FRESH: usize = 2048;

/// See [`RegionOptions::abandon`]: a phase in which MRU is wrong may be no longer than an epoch.
const ABANDON: f64 = 1.0 / 16.0;

/// Fewest pages that leave without a word of the sample before nothing is taken to be told of it.
const LEAST_HEARD: usize = 4096;

/// The capacity follows the number of pages that are here if it is different by one in so many.
const CLOSE: usize = 64;

/// LRU or MRU for each region of memory, and memory where it helps most, by what a sample of the pages tells.
///
/// What [`RegionSpecific`](super::RegionSpecific) is where all is seen. Regions are those that the caller
/// [tells of](ReplacementPolicy::begin_region), and all other pages. What decides about them is the same, but knows the
/// sample's pages alone, each of which stands for others of its region. Which page of a region leaves is decided by what
/// can be seen: of one in the order of the last use what came first, but for what is used while it is watched, as second
/// chance does; of one in the reverse order what came last, apart from those pages that came last of all.
///
/// Regions in the order of the last use give what was used longest ago in any of them, so that memory goes at once, and not
/// step by step, to whoever takes it: what each has at the end of an epoch is its share then. One in the reverse order keeps
/// its share, which changes by the steps of the paper. While nothing is told of a sample, all regions are in the order of the
/// last use.
#[derive(Clone, Debug)]
pub struct RegionsInRun {
    map: RegionMap,
    shares: Shares,
    sampled: Sampled,
    told: PageSample,
    pages: SlotPages,
    /// By slot.
    region_of: Vec<u8>,
    /// By slot: when the page came, or was last seen to be used.
    stamps: Vec<u32>,
    /// Counts arrivals, and uses that are seen.
    clock: u32,
    lists: Lists<LISTS>,
    /// Pages of each region that are here.
    lens: [usize; MOST_REGIONS],
    /// Pages of each region that may be watched because others of it left.
    owed: [usize; MOST_REGIONS],
    /// The region that is the first to watch pages.
    watch_from: usize,
    most_fresh: usize,
    /// Most pages that were here when one had to leave, in this epoch.
    full: usize,
    /// Pages that left since something was told of the sample.
    unheard: usize,
}

impl RegionsInRun {
    /// What it is called.
    pub const NAME: &'static str = "region";

    /// A policy without pages, and with one region.
    pub fn new() -> Self {
        let options =
            RegionOptions { noise: 2.0, patience: 3, abandon: ABANDON, ..RegionOptions::default() };
        let mut shares = Shares::new(options);
        shares.appear(1);
        Self {
            map: RegionMap::told(),
            shares,
            sampled: Sampled::new(),
            told: PageSample::all(0),
            pages: SlotPages::new(),
            region_of: Vec::new(),
            stamps: Vec::new(),
            clock: 0,
            lists: Lists::new(),
            lens: [0; MOST_REGIONS],
            owed: [0; MOST_REGIONS],
            watch_from: 0,
            most_fresh: LEAST_FRESH,
            full: 0,
            unheard: usize::MAX,
        }
    }

    /// Whether nothing is told of the sample.
    fn is_blind(&self) -> bool {
        self.unheard > self.shares.capacity().max(LEAST_HEARD)
    }

    /// A page is used now.
    fn stamp(&mut self, slot: Slot) {
        self.clock = self.clock.wrapping_add(1);
        let at = slot.0 as usize;
        if at >= self.stamps.len() {
            self.stamps.resize(at + 1, 0);
        }
        self.stamps[at] = self.clock;
    }

    /// Order and memory in pages of each region, by its number; the first is of what belongs to no other.
    pub fn regions(&self) -> impl Iterator<Item = (Order, usize)> + '_ {
        (0..self.shares.len()).map(|region| (self.shares.order(region), self.shares.size(region)))
    }

    fn region_of(&self, slot: Slot) -> usize {
        usize::from(self.region_of[slot.0 as usize])
    }

    /// A page is here, and came last.
    fn arrive(&mut self, page: PageId) -> Slot {
        let region = self.map.region_of(page);
        let slot = self.pages.insert(page);
        if slot.0 as usize >= self.region_of.len() {
            self.region_of.resize(slot.0 as usize + 1, 0);
        }
        self.region_of[slot.0 as usize] = region as u8;
        self.stamp(slot);
        self.lens[region] += 1;
        self.shares.grow(region, self.lens[region]);
        self.forget_gone();
        self.lists.push_youngest(FRESH, slot);
        while self.lists.len(FRESH) > self.most_fresh
            && let Some(oldest) = self.lists.pop_oldest(FRESH)
        {
            self.lists.push_youngest(MAPPED + self.region_of(oldest), oldest);
        }
        slot
    }

    /// A page is not here any more, or its region does not have it.
    fn withdraw(&mut self, slot: Slot) {
        self.lists.remove(slot);
        self.lens[self.region_of(slot)] -= 1;
    }

    /// Whether a region has pages that are not among those that came last.
    fn gives(&self, region: usize) -> bool {
        !self.lists.is_empty(MAPPED + region) || !self.lists.is_empty(WATCHED + region)
    }

    /// The page of a region that leaves first in some order.
    fn first_to_leave(&self, region: usize, order: Order) -> Option<Slot> {
        let lists = &self.lists;
        match order {
            Order::Lru => lists.oldest(WATCHED + region).or_else(|| lists.oldest(MAPPED + region)),
            Order::Mru => {
                lists.youngest(MAPPED + region).or_else(|| lists.youngest(WATCHED + region))
            }
        }
    }

    /// Of some regions the one that has the page which was not used for longest.
    fn oldest_of(&self, is_one: impl Fn(usize) -> bool) -> Option<usize> {
        let age = |slot: Slot| self.clock.wrapping_sub(self.stamps[slot.0 as usize]);
        let regions = (0..self.shares.len()).filter(|region| is_one(*region));
        let ages = regions
            .filter_map(|region| Some((region, age(self.first_to_leave(region, Order::Lru)?))));
        ages.max_by_key(|(_, age)| *age).map(|(region, _)| region)
    }

    /// The page that leaves next, of those that the program may still need and that did not come last.
    fn next_to_leave(&self) -> Option<Slot> {
        if self.is_blind() {
            return self.first_to_leave(self.oldest_of(|_| true)?, Order::Lru);
        }
        let pages = |region: usize| self.lens[region];
        let is_mru = |region: usize| self.shares.order(region) == Order::Mru;
        let is_above = |region| is_mru(region) && self.shares.above(region, pages(region)) > 0;
        let above = self.shares.most_above(pages, |region| is_above(region) && self.gives(region));
        let region = above
            .or_else(|| self.oldest_of(|region| !is_mru(region)))
            .or_else(|| self.shares.most_above(pages, |region| self.gives(region)))?;
        self.first_to_leave(region, self.shares.order(region))
    }

    /// There is so much memory for all regions.
    fn divide(&mut self, pages: usize) {
        self.most_fresh = (pages / FRESH_ONE_IN).clamp(LEAST_FRESH, MOST_FRESH).min(pages / 2);
        self.shares.set_capacity(pages);
        self.choose_sample();
    }

    /// Watches pages of a region of which some left, if not as many as may be are watched.
    fn watch_region(&mut self, region: usize, max: usize, out: &mut Vec<(PageId, Slot)>) {
        let most = self.lens[region] / WATCHED_ONE_IN;
        let room = most.saturating_sub(self.lists.len(WATCHED + region));
        let count = room.min(self.owed[region]).min(max);
        for _ in 0..count {
            let Some(slot) = self.lists.pop_oldest(MAPPED + region) else { break };
            self.lists.push_youngest(WATCHED + region, slot);
            out.extend(self.pages.get(slot).map(|page| (page, slot)));
        }
        self.owed[region] = if count == room { 0 } else { self.owed[region] - count };
    }

    /// Looks at another part of the sample, if it is to.
    fn choose_sample(&mut self) {
        if !self.sampled.choose(self.told, self.shares.capacity()) {
            return;
        }
        let mut from = 0;
        while let Some((slot, region)) = self.sampled.next_outside(&mut from) {
            self.shares.remove(region, slot);
            self.sampled.release(slot);
        }
        self.shares.set_rate(self.sampled.rate());
        self.see_all();
        self.forget_gone();
    }

    /// Tells how much of each region is seen.
    fn see_all(&mut self) {
        for region in 0..self.shares.len() {
            self.shares.see(region, self.sampled.share(region));
        }
    }

    /// Forgets pages of the sample that say nothing any more.
    fn forget_gone(&mut self) {
        while let Some(slot) = self.shares.next_gone() {
            self.sampled.release(slot);
        }
    }

    /// An epoch is over: there is as much memory as there turned out to be, which may not be what was said, since limits
    /// change by little steps.
    fn follow_limit(&mut self) {
        let full = std::mem::take(&mut self.full);
        if full > 0 && full.abs_diff(self.shares.capacity()) > full / CLOSE {
            self.divide(full);
        }
        self.see_all();
    }
}

impl Default for RegionsInRun {
    fn default() -> Self {
        Self::new()
    }
}

impl ReplacementPolicy for RegionsInRun {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn set_capacity(&mut self, pages: usize) {
        self.pages.reserve(pages);
        self.region_of.reserve_exact(pages.saturating_sub(self.region_of.len()));
        self.stamps.reserve_exact(pages.saturating_sub(self.stamps.len()));
        self.lists.reserve(pages);
        let most = Sampled::most();
        let step = self.shares.step_of(most);
        // The page that is looked at may be one more.
        let sampled = Curves::most_slots(most, step, MOST_REGIONS).saturating_add(2);
        self.sampled.reserve(sampled);
        self.shares.reserve(sampled);
        self.divide(pages);
        self.forget_gone();
    }

    fn wants_sample(&self) -> Option<usize> {
        Some(self.most_fresh)
    }

    fn set_sample(&mut self, sample: PageSample) {
        self.told = sample;
        self.choose_sample();
    }

    fn come(&mut self, page: PageId) {
        if !self.sampled.has(page) {
            return;
        }
        if self.is_blind() || self.shares.is_last() {
            self.shares.adopt(&self.lens);
            self.forget_gone();
        }
        self.unheard = 0;
        let region = self.map.region_of(page);
        let (slot, before) = self.sampled.come(page, region);
        if let Some(before) = before.filter(|before| *before != region) {
            self.shares.remove(before, slot);
        }
        if self.shares.reference(region, slot) {
            self.follow_limit();
        }
        self.forget_gone();
    }

    fn begin_region(&mut self, range: PageRange) {
        let Self { map, lens, .. } = self;
        let Some(begun) = map.begin(range, |region| lens[region] == 0) else { return };
        if begun.is_renewed {
            self.shares.renew(begun.region);
            self.sampled.renew(begun.region);
        }
        self.shares.appear(self.map.len());
        self.see_all();
        self.forget_gone();
    }

    fn end_region(&mut self, range: PageRange) {
        self.map.end(range);
    }

    fn insert(&mut self, page: PageId, arrival: Arrival) -> Slot {
        let slot = self.arrive(page);
        if arrival == Arrival::FirstTouch {
            self.sampled.touch(self.region_of(slot), page);
        }
        slot
    }

    fn access(&mut self, slot: Slot) {
        let region = self.region_of(slot);
        let list = self.lists.list_of(slot);
        if list == Some(WATCHED + region) || list == Some(MAPPED + region) {
            self.lists.remove(slot);
            self.stamp(slot);
            // Uses of most pages are not seen: those that are must not leave for it where what was used last does.
            match self.shares.order(region) {
                Order::Lru => self.lists.push_youngest(MAPPED + region, slot),
                Order::Mru => self.lists.push_oldest(MAPPED + region, slot),
            }
        }
    }

    fn dismiss(&mut self, slot: Slot) {
        self.lists.remove(slot);
        self.lists.push_youngest(DONE, slot);
    }

    fn remove(&mut self, slot: Slot) {
        self.withdraw(slot);
        self.pages.release(slot);
    }

    fn victim(&mut self) -> Option<PageId> {
        self.full = self.full.max(self.len());
        let slot = (self.lists.oldest(DONE))
            .or_else(|| self.next_to_leave())
            .or_else(|| self.lists.oldest(FRESH))?;
        self.unheard = self.unheard.saturating_add(1);
        self.owed[self.region_of(slot)] += WATCHED_FOR_ONE;
        self.withdraw(slot);
        Some(self.pages.release(slot))
    }

    fn restore(&mut self, page: PageId) -> Slot {
        self.arrive(page)
    }

    fn watch(&mut self, max: usize, out: &mut Vec<(PageId, Slot)>) {
        let (known, regions) = (out.len(), self.shares.len());
        // Each begins once, so that none takes it all.
        self.watch_from = (self.watch_from + 1) % regions.max(1);
        for at in 0..regions {
            let region = (self.watch_from + at) % regions;
            if self.is_blind() || self.shares.order(region) == Order::Lru {
                self.watch_region(region, max - (out.len() - known), out);
            }
        }
    }

    fn len(&self) -> usize {
        self.pages.len()
    }
}
