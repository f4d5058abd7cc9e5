//! Finds lines that may be anywhere: a table of slots, hashed by line.
//!
//! Programs look into it while it changes. What they find there is only where to look: a slot whose tag is another is
//! not it, and who finds nothing asks the section.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use farside_os::Result;
use farside_os::memory::{self, PAGE, reserve};

use crate::lines::{EXTRA, Lines};

/// A place that holds no slot.
pub const VACANT: u32 = u32::MAX;

/// Odd, with bits all over.
pub const FACTOR: u32 = 0x9e37_79b1;

/// Each place holds a slot below, and above it as many bits of the line's hash as there is room for.
pub struct Index {
    pub places: &'static [AtomicU32],
    pub slot_bits: u32,
}

impl Index {
    pub fn new(slots: u32) -> Result<Self> {
        // A fifth stays vacant.
        let count = (slots as usize * 5 / 4 + 8).next_multiple_of(2);
        let addr = reserve((count * 4).next_multiple_of(PAGE), PAGE, "the index of a section")?;
        // SAFETY: a fresh mapping of that length, unmapped only with the index.
        let places = unsafe { std::slice::from_raw_parts(addr as *const AtomicU32, count) };
        places.iter().for_each(|place| place.store(VACANT, Relaxed));
        Ok(Self { places, slot_bits: 32 - (slots + EXTRA).leading_zeros() })
    }

    /// Its length in bytes.
    pub fn bytes(&self) -> u64 {
        size_of_val(self.places) as u64
    }

    fn home(&self, line: u32) -> usize {
        ((u64::from(line.wrapping_mul(FACTOR)) * self.places.len() as u64) >> 32) as usize
    }

    fn entry(&self, line: u32, slot: u32) -> u32 {
        (line.wrapping_mul(FACTOR) << self.slot_bits) | slot
    }

    fn slot(&self, entry: u32) -> u32 {
        entry & ((1 << self.slot_bits) - 1)
    }

    fn next(&self, place: usize) -> usize {
        if place + 1 == self.places.len() { 0 } else { place + 1 }
    }

    /// The slot of a line, whose tag says so.
    pub fn find(&self, lines: &Lines, line: u32) -> Option<u32> {
        let mut place = self.home(line);
        loop {
            let entry = self.places[place].load(Acquire);
            if entry == VACANT {
                return None;
            }
            let slot = self.slot(entry);
            if lines.line(slot) == line {
                return Some(slot);
            }
            place = self.next(place);
        }
    }

    /// Adds a line that is in `slot`; changers exclude each other.
    pub fn insert(&self, line: u32, slot: u32) {
        let mut place = self.home(line);
        while self.places[place].load(Relaxed) != VACANT {
            place = self.next(place);
        }
        self.places[place].store(self.entry(line, slot), Release);
    }

    /// Removes a line, whose slot and those of all others still have their tags.
    pub fn remove(&self, lines: &Lines, line: u32, slot: u32) {
        let entry = self.entry(line, slot);
        let mut hole = self.home(line);
        while self.places[hole].load(Relaxed) != entry {
            if self.places[hole].load(Relaxed) == VACANT {
                return;
            }
            hole = self.next(hole);
        }
        // Those behind it move up, unless they would come before their home.
        let mut place = self.next(hole);
        loop {
            let entry = self.places[place].load(Relaxed);
            if entry == VACANT {
                break;
            }
            let home = self.home(lines.line(self.slot(entry)));
            let stays = if hole <= place {
                hole < home && home <= place
            } else {
                hole < home || home <= place
            };
            if !stays {
                self.places[hole].store(entry, Release);
                hole = place;
            }
            place = self.next(place);
        }
        self.places[hole].store(VACANT, Release);
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        let len = size_of_val(self.places).next_multiple_of(PAGE);
        // What cannot be unmapped stays mapped, and harms nobody.
        let _ = memory::unmap(self.places.as_ptr() as usize, len, "the index of a section");
    }
}
