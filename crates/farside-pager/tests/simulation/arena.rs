//! Real memory for the simulated address space, used again by every run.

use farside_os::memory::reserve;

use crate::PAGE;
use crate::space::POISON;

/// Most pages that one worker handles at once.
const BATCH: usize = farside_pager::BATCH;

/// Addresses of one simulated process.
#[derive(Copy, Clone)]
pub struct Arena {
    pub base: usize,
}

/// Most pages of a region.
pub const REGION: usize = 1088;

/// Most positions of a frame area.
pub const AREA: usize = 128;

/// Most workers.
pub const WORKERS: usize = 12;

impl Arena {
    pub fn new() -> Self {
        let pages = REGION + AREA + 2 * WORKERS * BATCH;
        let base = reserve(pages * PAGE, PAGE, "the arena").expect("there is address space");
        let arena = Self { base };
        for page in 0..REGION + AREA {
            arena.page(page).fill(POISON);
        }
        arena
    }

    /// Pages that the simulated kernel keeps account of: the region, the area, the workers' scratch.
    pub const fn accounted() -> usize {
        REGION + AREA + WORKERS * BATCH
    }

    pub fn area(&self) -> usize {
        self.base + REGION * PAGE
    }

    /// A worker's scratch for fresh frames.
    pub fn fresh(&self, worker: usize) -> usize {
        self.base + (REGION + AREA + worker * BATCH) * PAGE
    }

    /// A worker's bounce buffer.
    pub fn bounce(&self, worker: usize) -> usize {
        self.base + (REGION + AREA + (WORKERS + worker) * BATCH) * PAGE
    }

    /// The bytes of a page.
    #[allow(clippy::mut_from_ref)]
    pub fn page(&self, index: usize) -> &mut [u8] {
        // SAFETY: the arena is mapped for ever, and used by one thread, which keeps no two slices of
        // one page.
        unsafe { std::slice::from_raw_parts_mut((self.base + index * PAGE) as *mut u8, PAGE) }
    }
}
