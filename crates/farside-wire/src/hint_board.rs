//! What came of hints, by the place in the program that gives them: counts in memory that two processes share, behind the
//! words of a [queue].
//!
//! The process that gives hints adds; the other one reads. Whatever is there is a number of its own.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use farside_os::Result;
use farside_os::memory;

use crate::queue;

/// Most places that are told apart.
pub const PLACES: usize = 4096;

/// Looks at so many places before it gives up.
const MOST_PROBES: usize = 64;

/// Bytes of the board.
pub(crate) const BYTES: usize = PLACES * size_of::<Row>();

/// What is counted of a place.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Count {
    /// Hints that looked at a table.
    Given,
    /// Those at what is no far memory, or goes beyond it.
    Astray,
    /// Those that found something missing.
    Missing,
    /// Pages that came for them.
    Brought,
    /// Pages that were read ahead.
    Ahead,
    /// Those that were used then.
    AheadUsed,
    /// Those that left unused.
    AheadUnused,
}

#[repr(C, align(64))]
struct Row {
    /// The address behind the call; 0 if the row is free.
    address: AtomicU64,
    counts: [AtomicU64; 7],
}

/// What was counted of a place.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// The address behind the call.
    pub address: u64,
    /// What was counted, in the order of [`Count`].
    counts: [u64; 7],
}

impl Counted {
    /// One of the counts.
    pub fn get(&self, count: Count) -> u64 {
        self.counts[count as usize]
    }
}

/// A number that stands for a place; 0 stands for none.
pub type PlaceNumber = u16;

/// The board.
#[derive(Debug)]
pub struct HintBoard {
    at: usize,
}

impl HintBoard {
    /// The board in the file of a [`queue::Receiver`].
    ///
    /// # Errors
    /// If it cannot be mapped.
    pub fn open(file: BorrowedFd<'_>) -> Result<Self> {
        memory::map_shared(file, queue::BYTES + BYTES, "counts of hints").map(|at| Self { at })
    }

    fn rows(&self) -> &[Row] {
        // SAFETY: the mapping is longer than that, page-aligned, lives as long as `self`, and atomics are valid for any
        // content.
        unsafe { std::slice::from_raw_parts((self.at + queue::BYTES) as *const Row, PLACES) }
    }

    /// The number of the place with this address; 0 if there are too many.
    pub fn place(&self, address: u64) -> PlaceNumber {
        if address == 0 {
            return 0;
        }
        let start = address.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        for probe in 0..MOST_PROBES {
            // The first row is nobody's.
            let number = 1 + (start as usize + probe) % (PLACES - 1);
            let own = &self.rows()[number].address;
            let before = match own.load(Ordering::Relaxed) {
                0 => own.compare_exchange(0, address, Ordering::Relaxed, Ordering::Relaxed),
                other => Err(other),
            };
            if before.map_or_else(|other| other == address, |_| true) {
                return number as PlaceNumber;
            }
        }
        0
    }

    /// Adds to a count of a place.
    pub fn add(&self, place: PlaceNumber, count: Count, by: u64) {
        if let (1.., Some(row)) = (place, self.rows().get(place as usize)) {
            row.counts[count as usize].fetch_add(by, Ordering::Relaxed);
        }
    }

    /// All places and their counts.
    pub fn counted(&self) -> Vec<Counted> {
        let of = |row: &Row| Counted {
            address: row.address.load(Ordering::Relaxed),
            counts: std::array::from_fn(|i| row.counts[i].load(Ordering::Relaxed)),
        };
        self.rows().iter().map(of).filter(|counted| counted.address != 0).collect()
    }

    /// Forgets everything.
    pub fn clear(&self) {
        for row in self.rows() {
            row.address.store(0, Ordering::Relaxed);
            row.counts.iter().for_each(|count| count.store(0, Ordering::Relaxed));
        }
    }
}

impl Drop for HintBoard {
    fn drop(&mut self) {
        // A range that cannot be unmapped stays mapped, and harms nobody.
        let _ = memory::unmap(self.at, queue::BYTES + BYTES, "counts of hints");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_apart_and_counts_are_seen_by_the_other_side() {
        let queue = queue::Receiver::new().expect("memory");
        let (ours, theirs) = (HintBoard::open(queue.file()), HintBoard::open(queue.file()));
        let (ours, theirs) = (ours.expect("mapped"), theirs.expect("mapped"));
        for address in 1..=1000 {
            let place = theirs.place(address * 16);
            assert_eq!(theirs.place(address * 16), place);
            theirs.add(place, Count::Given, address);
            theirs.add(place, Count::AheadUnused, 1);
        }
        theirs.add(0, Count::Given, 1);
        let counted = ours.counted();
        assert_eq!(counted.len(), 1000);
        for one in counted {
            assert_eq!((one.get(Count::Given), one.get(Count::AheadUnused)), (one.address / 16, 1));
        }
        ours.clear();
        assert_eq!(theirs.counted(), []);
    }

    #[test]
    fn too_many_places_are_none() {
        let queue = queue::Receiver::new().expect("memory");
        let board = HintBoard::open(queue.file()).expect("mapped");
        let numbers =
            (1..3 * PLACES as u64).map(|address| board.place(address)).collect::<Vec<_>>();
        assert!(numbers.contains(&0) && board.counted().len() < PLACES);
        board.add(PlaceNumber::MAX, Count::Given, 1);
    }
}
