//! Pages of a sample by which regions are judged.

use farside_trace::{PageId, PageSample};

use super::super::Slot;
use super::super::list::SlotPages;
use super::super::page_index::PageIndex;
use super::map::MOST_REGIONS;

/// Most pages of the sample that memory has room for, about: more tell hardly more.
const MOST: usize = 2048;

/// Of fewer the sample is made larger, if more pages may be looked at.
const LEAST: usize = 256;

/// Halvings of the sample by which pages are told apart.
const LEVELS: usize = 24;

/// Which pages belong to the sample, and where those are that the program came to.
#[derive(Clone, Debug)]
pub struct Sampled {
    sample: PageSample,
    pages: SlotPages,
    index: PageIndex,
    /// By slot.
    region_of: Vec<u8>,
    /// Pages of each region that the program came to first, by how often the sample can be halved with them in it.
    touched: [[u64; LEVELS + 1]; MOST_REGIONS],
}

impl Sampled {
    /// No page so far; all belong to the sample.
    pub fn new() -> Self {
        Self {
            sample: PageSample::all(0),
            pages: SlotPages::new(),
            index: PageIndex::new(),
            region_of: Vec::new(),
            touched: [[0; LEVELS + 1]; MOST_REGIONS],
        }
    }

    /// Makes room for so many pages.
    pub fn reserve(&mut self, pages: usize) {
        self.pages.reserve(pages);
        self.index.reserve(pages);
        self.region_of.reserve_exact(pages.saturating_sub(self.region_of.len()));
    }

    /// Pages of the sample that memory ever has room for, however many it has room for in all.
    pub const fn most() -> usize {
        2 * MOST
    }

    /// The share of all pages that belongs to the sample, about.
    pub fn rate(&self) -> f64 {
        self.sample.rate()
    }

    /// What is to be looked at of the sample that the caller tells of, if memory has room for so many pages; says whether
    /// that is another one than before.
    pub fn choose(&mut self, told: PageSample, capacity: usize) -> bool {
        let halvings = |most: usize| (capacity / most).next_power_of_two().ilog2();
        let fewest = if capacity > MOST { halvings(MOST) } else { 0 };
        // A larger one would tell nothing of the pages that are new to it for a while.
        let present = self.sample.halvings();
        let is_enough = (capacity as f64 * self.sample.rate()) as usize >= LEAST;
        let least = if is_enough { present } else { 0 };
        let chosen = told.with_halvings(told.halvings().max(fewest).max(least.min(LEVELS as u32)));
        let is_other = chosen.halvings() != present;
        self.sample = chosen;
        is_other
    }

    /// A page that does not belong to the sample any more, with its slot and region; it is forgotten.
    pub fn next_outside(&mut self, from: &mut u32) -> Option<(Slot, usize)> {
        while (*from as usize) < self.region_of.len() {
            let slot = Slot(*from);
            *from += 1;
            if let Some(page) = self.pages.get(slot)
                && !self.sample.has(page)
            {
                return Some((slot, self.region_of(slot)));
            }
        }
        None
    }

    /// Whether a page belongs to the sample.
    pub fn has(&self, page: PageId) -> bool {
        self.sample.has(page)
    }

    /// The program came to a page of a region for the first time.
    pub fn touch(&mut self, region: usize, page: PageId) {
        let level = (self.sample.most_halvings(page) as usize).min(LEVELS);
        self.touched[region][level] += 1;
    }

    /// Another region begins under this number.
    pub fn renew(&mut self, region: usize) {
        self.touched[region] = [0; LEVELS + 1];
    }

    /// The share of the pages of a region that belongs to the sample: exactly, if there are enough of them to be far from
    /// that of all pages by no more than twice as much.
    pub fn share(&self, region: usize) -> f64 {
        let levels = &self.touched[region];
        let all: u64 = levels.iter().sum();
        let inside: u64 = levels[self.sample.halvings() as usize..].iter().sum();
        let rate = self.sample.rate();
        if all == 0 {
            rate
        } else {
            (inside as f64 / all as f64).clamp(rate / 2.0, rate * 2.0).min(1.0)
        }
    }

    /// The slot of a page that the program came to and that belongs to a region, and the region that it belonged to when
    /// it came before.
    pub fn come(&mut self, page: PageId, region: usize) -> (Slot, Option<usize>) {
        if let Some(slot) = self.index.find(page, |slot| self.pages.get(slot)) {
            let before = self.region_of(slot);
            self.region_of[slot.0 as usize] = region as u8;
            return (slot, Some(before));
        }
        let slot = self.pages.insert(page);
        self.index.insert(page, slot);
        if slot.0 as usize >= self.region_of.len() {
            self.region_of.resize(slot.0 as usize + 1, 0);
        }
        self.region_of[slot.0 as usize] = region as u8;
        (slot, None)
    }

    fn region_of(&self, slot: Slot) -> usize {
        usize::from(self.region_of[slot.0 as usize])
    }

    /// Forgets the page at a slot.
    pub fn release(&mut self, slot: Slot) {
        let page = self.pages.release(slot);
        self.index.remove_slot(page, slot);
    }
}
