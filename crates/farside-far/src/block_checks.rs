//! Checksums of blocks of pages: of those that are moved by parts, which no checksum of the whole page could tell from
//! others.
//!
//! How long the blocks of a page are is up to who stores it. For each length there is a table with room for all slots, of
//! which only as much is ever touched as is used. The tables lie in memory that forked processes share, and are made when
//! they are needed first, or when there is about to be such a process.

use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use farside_os::memory::{self, PAGE};
use farside_wire::frame::page_check;

use crate::FarError;
use crate::seals::SLOTS;

/// The shortest and the longest blocks, by their logarithms.
const SHIFTS: std::ops::RangeInclusive<u32> = 6..=10;

/// How many lengths there are.
const LENGTHS: usize = 5;

/// How long the blocks of a page are: 64 bytes to 1 KiB, and a power of two.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Grain(u32);

impl Grain {
    /// The longest that is no longer than `bytes`, or the shortest.
    pub fn within(bytes: usize) -> Self {
        Self(bytes.max(1).ilog2().clamp(*SHIFTS.start(), *SHIFTS.end()))
    }

    /// What is [packed](Self::pack); 0 is no length.
    pub fn unpack(packed: u64) -> Option<Self> {
        u32::try_from(packed).ok().filter(|shift| SHIFTS.contains(shift)).map(Self)
    }

    /// A number other than 0 that stands for it.
    pub fn pack(self) -> u64 {
        self.0.into()
    }

    /// In bytes.
    pub fn bytes(self) -> usize {
        1 << self.0
    }

    /// The bytes of a page in all blocks of which some are in a range.
    pub fn around(self, range: std::ops::Range<usize>) -> std::ops::Range<usize> {
        range.start & !(self.bytes() - 1)..range.end.next_multiple_of(self.bytes())
    }

    /// Checksums of a page.
    fn per_page(self) -> usize {
        PAGE >> self.0
    }
}

/// The checksums of blocks of one length.
struct Table {
    /// As long as this lives: they take much address space, which is given back.
    checks: &'static [AtomicU32],
}

impl Drop for Table {
    fn drop(&mut self) {
        let (at, len) = (self.checks.as_ptr() as usize, size_of_val(self.checks));
        self.checks = &[];
        // Failing to unmap costs address space only.
        let _ = memory::unmap(at, len, "the table of checksums");
    }
}

impl Table {
    fn new(grain: Grain) -> Result<Self, FarError> {
        let count = SLOTS as usize * grain.per_page();
        let len = count * size_of::<AtomicU32>();
        let file = memory::anonymous_file(c"farside-checks", len as u64)?;
        let at = memory::map_shared(file.as_fd(), len, "the table of checksums")?;
        // SAFETY: the mapping is as long, lives as long as this, out of which no longer lent reference comes, and atomics are
        // valid for any content.
        let checks = unsafe { std::slice::from_raw_parts(at as *const AtomicU32, count) };
        Ok(Self { checks })
    }
}

/// The tables.
#[derive(Default)]
pub struct BlockChecks {
    tables: [OnceLock<Table>; LENGTHS],
}

impl BlockChecks {
    /// Sees to it that there is a table for blocks of that length.
    ///
    /// # Errors
    /// If there is not so much address space.
    pub fn prepare(&self, grain: Grain) -> Result<(), FarError> {
        let table = self.table(grain);
        if table.get().is_none() {
            // Another thread may have been quicker.
            drop(table.set(Table::new(grain)?));
        }
        Ok(())
    }

    /// Sees to it that there are tables for all lengths: what a forked process makes for itself it does not share.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare).
    pub fn prepare_all(&self) -> Result<(), FarError> {
        SHIFTS.map(Grain).try_for_each(|grain| self.prepare(grain))
    }

    fn table(&self, grain: Grain) -> &OnceLock<Table> {
        &self.tables[(grain.0 - SHIFTS.start()) as usize]
    }

    /// Those of the blocks in a range of a page, which begins and ends where blocks do; nothing if there is no table of them.
    fn of(&self, slot: u64, grain: Grain, range: &std::ops::Range<usize>) -> &[AtomicU32] {
        let Some(table) = self.table(grain).get() else { return &[] };
        let start = slot as usize * grain.per_page();
        &table.checks[start + (range.start >> grain.0)..start + (range.end >> grain.0)]
    }

    /// Takes note of what is stored in a range of a page, which begins and ends where blocks do; there is a table of these.
    pub fn set(&self, slot: u64, grain: Grain, range: std::ops::Range<usize>, bytes: &[u8]) {
        let checks = self.of(slot, grain, &range);
        for (check, block) in checks.iter().zip(bytes.chunks_exact(grain.bytes())) {
            check.store(page_check(block), Ordering::Release);
        }
    }

    /// Whether bytes are what was stored last in a range of a page, which begins and ends where blocks do.
    pub fn are_right(
        &self,
        slot: u64,
        grain: Grain,
        range: std::ops::Range<usize>,
        bytes: &[u8],
    ) -> bool {
        let checks = self.of(slot, grain, &range);
        let mut blocks = checks.iter().zip(bytes.chunks_exact(grain.bytes()));
        bytes.len() == range.len()
            && checks.len() == range.len() >> grain.0
            && blocks.all(|(check, block)| check.load(Ordering::Acquire) == page_check(block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_as_long_as_they_may_be() {
        let lengths = [0, 63, 64, 127, 128, 1000, 1024, 1 << 20];
        assert_eq!(
            lengths.map(|bytes| Grain::within(bytes).bytes()),
            [64, 64, 64, 64, 128, 512, 1024, 1024]
        );
        assert_eq!(Grain::within(128).around(130..257), 128..384);
        for bytes in lengths {
            let grain = Grain::within(bytes);
            assert_eq!(Grain::unpack(grain.pack()), Some(grain));
        }
        assert_eq!([0, 5, 11, u64::MAX].map(Grain::unpack), [None; 4]);
    }

    #[test]
    fn a_turned_bit_is_found_in_its_block() {
        let checks = BlockChecks::default();
        let page: Vec<u8> = (0..PAGE).map(|at| at as u8).collect();
        for grain in SHIFTS.map(Grain) {
            assert!(!checks.are_right(7, grain, 0..PAGE, &page), "there is no table yet");
            checks.prepare(grain).unwrap();
            for slot in [0, 7, SLOTS - 1] {
                checks.set(slot, grain, 0..PAGE, &page);
            }
            let block = grain.bytes();
            checks.set(7, grain, block..2 * block, &vec![9; block]);
            let mut now = page.clone();
            now[block..2 * block].fill(9);
            assert!(checks.are_right(7, grain, 0..PAGE, &now));
            assert!(!checks.are_right(7, grain, 0..PAGE, &page));
            assert!(checks.are_right(7, grain, 2 * block..PAGE, &page[2 * block..]));
            assert!(checks.are_right(0, grain, 0..PAGE, &page));
            assert!(checks.are_right(SLOTS - 1, grain, 0..PAGE, &page));
            now[PAGE - 1] ^= 1;
            assert!(!checks.are_right(7, grain, 0..PAGE, &now));
            assert!(!checks.are_right(7, grain, 0..block, &page[..block - 1]));
        }
    }
}
