//! Region-specific replacement (PATH, section 4.1.1).

mod balance;
mod curves;
mod in_run;
mod map;
mod options;
mod residents;
mod sampled;
mod shares;

pub use curves::{Curves, Misses, Order};
pub use in_run::RegionsInRun;
pub use map::{Begun, LEAST_REGION, MOST_REGIONS, RegionMap, RegionMapError};
pub use options::RegionOptions;

use farside_trace::PageId;

use super::list::SlotPages;
use super::page_index::PageIndex;
use super::{Arrival, ReplacementPolicy, Slot};
use residents::Residents;
use shares::Shares;

/// Page numbers between regions unless told otherwise: 16 MiB.
const DEFAULT_GAP: u64 = 4096;

/// Most regions found unless told otherwise; the paper saw fewer than ten in a program.
const DEFAULT_REGIONS: usize = 16;

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
    hot: usize,
    map: RegionMap,
    pages: SlotPages,
    resident: Residents,
    /// Pages that are not resident but in a stack.
    ghosts: PageIndex,
    shares: Shares,
    resident_pages: usize,
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
            hot: options.hot,
            map,
            pages: SlotPages::new(),
            resident: Residents::new(),
            ghosts: PageIndex::new(),
            shares: Shares::new(options),
            resident_pages: 0,
            expected: None,
        }
    }

    /// Order and memory in pages of each region, by its number.
    pub fn regions(&self) -> impl Iterator<Item = (Order, usize)> + '_ {
        (0..self.map.len()).map(|region| (self.shares.order(region), self.shares.size(region)))
    }

    /// The region of `page`; a new one gets memory.
    fn region(&mut self, page: PageId) -> usize {
        let region = self.map.region_of(page);
        if self.map.len() > self.shares.len() {
            self.shares.appear(self.map.len());
            self.release_gone();
        }
        region
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
        if referenced || self.shares.order(region) == Order::Lru {
            self.resident.add_youngest(slot);
        } else {
            self.resident.add_oldest(slot);
        }
        self.resident_pages += 1;
        self.shares.grow(region, self.resident.len(region));
        slot
    }

    /// Counts a reference to a resident page.
    fn reference(&mut self, slot: Slot) {
        self.shares.reference(self.resident.region_of(slot), slot);
        self.release_gone();
    }

    /// Forgets pages that are neither in a stack nor resident.
    fn release_gone(&mut self) {
        while let Some(slot) = self.shares.next_gone() {
            if !self.resident.contains(slot) {
                let page = self.pages.release(slot);
                self.ghosts.remove_slot(page, slot);
            }
        }
    }

    /// The region that gives up a page; `None` if only hot ones are left.
    fn giving(&self) -> Option<usize> {
        let pages = |region| self.resident.len(region);
        let is_above = |region: &usize| self.shares.above(*region, pages(*region)) >= 0;
        let own = self.expected.filter(|region| self.resident.has_cold(*region));
        own.filter(is_above)
            .or_else(|| self.shares.most_above(pages, |region| self.resident.has_cold(region)))
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
        let ghosts = Curves::most_slots(pages, self.shares.step_of(pages), self.map.most());
        let slots = ghosts.saturating_add(pages).saturating_add(2);
        self.pages.reserve(slots);
        self.resident.reserve(slots);
        self.resident.set_most_hot(self.hot.min(pages / 2));
        self.shares.reserve(slots);
        self.ghosts.reserve(ghosts.saturating_add(2));
        self.shares.set_capacity(pages);
        self.release_gone();
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
        self.shares.remove(self.resident.region_of(slot), slot);
        self.pages.release(slot);
        self.release_gone();
    }

    fn victim(&mut self) -> Option<PageId> {
        let slot = match self.giving() {
            Some(region) => self.resident.first_to_leave(region, self.shares.order(region))?,
            None => self.resident.oldest_hot()?,
        };
        self.resident.remove(slot);
        self.resident_pages -= 1;
        if self.shares.holds(slot) {
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
