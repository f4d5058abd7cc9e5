//! The memory that sections and paged memory share.

use farside_pager::settings::LEAST_LIMIT;
use farside_tune::STEP;

/// What paged memory keeps in any case: its least, and what a program has besides.
pub const PAGED: u64 = LEAST_LIMIT + (256 << 10);

/// The room that there is.
#[derive(Copy, Clone, Debug)]
pub struct Room {
    /// Bytes of local memory.
    pub local: u64,
    /// Bytes of far memory that the program uses.
    pub footprint: u64,
}

impl Room {
    /// Room for everything, twice: lines of a section may be in each other's way.
    pub fn for_all(&self) -> Self {
        Self { local: PAGED + whole(2 * self.footprint), ..*self }
    }

    /// Bytes for sections, if paged memory has only its least.
    pub fn most(&self) -> u64 {
        self.local.saturating_sub(PAGED) & !(STEP - 1)
    }

    /// The share in these of so many bytes of all that the program uses.
    pub fn share(&self, bytes: u64) -> u64 {
        let all = u128::from(self.footprint.max(1));
        (u128::from(self.most()) * u128::from(bytes) / all) as u64
    }
}

/// Whole steps, at least one.
pub fn whole(bytes: u64) -> u64 {
    (bytes & !(STEP - 1)).max(STEP)
}
