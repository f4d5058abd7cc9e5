//! Where each page is.

use farside_policy::replacement::Slot;
use farside_trace::PageId;

use crate::page_map::{NONE, PageMap};

/// Marks that a prefetched page was not used yet.
const UNUSED: u32 = 1 << 31;

/// Marks that the far store does not have what the page holds.
const DIRTY: u32 = 1 << 30;

/// Marks a page that the far store holds: no unused page is dirty.
const FAR: u32 = UNUSED | DIRTY;

/// What is left for slots, those of far pages too; the two highest are states.
const SLOT: u32 = DIRTY - 1;

const UNTOUCHED: u32 = NONE;
const FLYING: u32 = NONE - 1;

/// Where a page is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Nowhere yet.
    Untouched,
    /// With the far store only.
    Far {
        /// In the policy, when it left.
        was: Slot,
    },
    /// On its way.
    Flying,
    /// Mapped.
    Resident {
        /// In the policy.
        slot: Slot,
        /// Prefetched and not used since.
        unused: bool,
    },
}

/// How a page was when it left.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Left {
    pub dirty: bool,
    pub unused: bool,
}

/// The states of all pages.
#[derive(Clone, Debug, Default)]
pub struct Residence {
    pages: PageMap,
}

impl Residence {
    pub fn new() -> Self {
        Self::default()
    }

    #[inline]
    pub fn state(&self, page: PageId) -> State {
        match self.pages.get(page) {
            UNTOUCHED => State::Untouched,
            FLYING => State::Flying,
            value if value >= FAR => State::Far { was: Slot(value & SLOT) },
            value => State::Resident { slot: Slot(value & SLOT), unused: value & UNUSED != 0 },
        }
    }

    /// The slot that `page` has in the policy, or had when it left.
    #[inline]
    pub fn slot(&self, page: PageId) -> Option<Slot> {
        let value = self.pages.get(page);
        (value < FLYING).then_some(Slot(value & SLOT))
    }

    /// Asks the processor for what there is about `page`.
    #[inline]
    pub fn glance(&self, page: PageId) {
        self.pages.glance(page);
    }

    pub fn set_flying(&mut self, page: PageId) {
        *self.pages.entry(page) = FLYING;
    }

    /// Makes a page resident, clean and used.
    ///
    /// # Panics
    /// When 2^30 - 2 pages have slots (4 TiB).
    pub fn set_resident(&mut self, page: PageId, slot: Slot) {
        assert!(slot.0 < SLOT - 1, "more resident pages than can be simulated");
        *self.pages.entry(page) = slot.0;
    }

    pub fn set_unused(&mut self, page: PageId) {
        *self.pages.entry(page) |= UNUSED;
    }

    pub fn set_used(&mut self, page: PageId) {
        *self.pages.entry(page) &= !UNUSED;
    }

    /// Notes that a page was written, if it is resident.
    pub fn set_dirty(&mut self, page: PageId) {
        let value = self.pages.entry(page);
        if *value < FAR {
            *value |= DIRTY;
        }
    }

    pub fn evict(&mut self, page: PageId) -> Left {
        let place = self.pages.entry(page);
        let value = std::mem::replace(place, FAR | *place);
        Left { dirty: value & DIRTY != 0, unused: value & UNUSED != 0 }
    }
}
