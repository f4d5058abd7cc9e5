//! Where each page is.

use farside_policy::replacement::Slot;
use farside_trace::PageId;

use crate::page_map::{NONE, PageMap};

/// Marks that a prefetched page was not used yet.
const UNUSED: u32 = 1 << 31;

/// Marks that the far store does not have what the page holds.
const DIRTY: u32 = 1 << 30;

/// What is left for slots; the three highest are states.
const SLOT: u32 = DIRTY - 1;

const UNTOUCHED: u32 = NONE;
const FAR: u32 = NONE - 1;
const FLYING: u32 = NONE - 2;

/// Where a page is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Nowhere yet.
    Untouched,
    /// With the far store only.
    Far,
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
            FAR => State::Far,
            FLYING => State::Flying,
            value => State::Resident { slot: Slot(value & SLOT), unused: value & UNUSED != 0 },
        }
    }

    pub fn set_flying(&mut self, page: PageId) {
        *self.pages.entry(page) = FLYING;
    }

    /// Makes a page resident, clean and used.
    ///
    /// # Panics
    /// When 2^30 - 3 pages are resident (4 TiB).
    pub fn set_resident(&mut self, page: PageId, slot: Slot) {
        assert!(slot.0 < SLOT - 2, "more resident pages than can be simulated");
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
        if *value < FLYING {
            *value |= DIRTY;
        }
    }

    pub fn evict(&mut self, page: PageId) -> Left {
        let value = std::mem::replace(self.pages.entry(page), FAR);
        Left { dirty: value & DIRTY != 0, unused: value & UNUSED != 0 }
    }
}
