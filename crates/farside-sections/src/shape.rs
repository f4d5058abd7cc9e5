//! How a section is made: its structure, its lines, and how many there are.

use thiserror::Error;

/// Shortest and longest lines.
pub const LEAST_LINE: u64 = 64;
/// See [`LEAST_LINE`].
pub const MOST_LINE: u64 = 2 << 20;

/// Most ways of a set, and most slots of a section.
const MOST_WAYS: u32 = 1 << 16;
const MOST_SLOTS: u64 = 1 << 28;

/// Lines at least this long know which of their blocks were written.
const LEAST_WITH_BLOCKS: u64 = 1024;

/// Where a line may be.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Structure {
    /// In one slot.
    Direct,
    /// In one of so many slots, of which the next line has others.
    Set(u32),
    /// Anywhere.
    Full,
}

/// Structure, line and capacity as they are asked for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Where a line may be.
    pub structure: Structure,
    /// Bytes of a line.
    pub line: u64,
    /// Bytes of local memory.
    pub capacity: u64,
}

/// Why there cannot be such a section.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
pub enum BadShape {
    /// Lines of that length cannot be.
    #[error("lines of {0} bytes: a line has 64 bytes to 2 MiB, and a power of two of them")]
    Line(u64),
    /// Sets of that size cannot be.
    #[error("sets of {0} lines: a set has 1 to 65536")]
    Ways(u32),
    /// Not one set fits.
    #[error(
        "a capacity of {capacity} bytes, which is less than {least}, the least with such lines"
    )]
    TooSmall {
        /// What was asked for.
        capacity: u64,
        /// One set.
        least: u64,
    },
    /// More slots than can be counted.
    #[error("a capacity of {0} bytes, which makes more than 268435456 lines")]
    TooLarge(u64),
}

/// A shape that can be, in numbers.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Logarithm of the length of a line.
    pub shift: u32,
    pub sets: u32,
    pub ways: u32,
    /// Whether a line may be anywhere; then there is one set.
    pub full: bool,
    /// Logarithm of the length of the blocks of a line of which it is known whether they were written.
    pub block_shift: u32,
}

impl Shape {
    pub(crate) fn geometry(self) -> Result<Geometry, BadShape> {
        let Self { structure, line, capacity } = self;
        if !line.is_power_of_two() || !(LEAST_LINE..=MOST_LINE).contains(&line) {
            return Err(BadShape::Line(line));
        }
        let slots = capacity / line;
        let ways = match structure {
            Structure::Direct => 1,
            Structure::Set(ways) if (1..=MOST_WAYS).contains(&ways) => ways,
            Structure::Set(ways) => return Err(BadShape::Ways(ways)),
            Structure::Full => slots.clamp(1, MOST_SLOTS) as u32,
        };
        if slots < u64::from(ways) {
            return Err(BadShape::TooSmall { capacity, least: line * u64::from(ways) });
        }
        if slots > MOST_SLOTS {
            return Err(BadShape::TooLarge(capacity));
        }
        let shift = line.trailing_zeros();
        Ok(Geometry {
            shift,
            sets: slots as u32 / ways,
            ways,
            full: structure == Structure::Full,
            block_shift: if line < LEAST_WITH_BLOCKS { shift } else { (shift - 6).max(6) },
        })
    }
}

impl Geometry {
    pub fn line(&self) -> usize {
        1 << self.shift
    }

    pub fn slots(&self) -> u32 {
        self.sets * self.ways
    }

    /// The first slot of the set that a line belongs to.
    pub fn first_slot(&self, line: u32) -> u32 {
        line % self.sets * self.ways
    }

    /// Whether it is known which blocks of a line were written.
    pub fn has_blocks(&self) -> bool {
        self.block_shift < self.shift
    }

    /// What the remainder by the number of sets is computed with; 0 if that is a power of two.
    pub fn magic(&self) -> u64 {
        if self.sets.is_power_of_two() { 0 } else { u64::MAX / u64::from(self.sets) + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(structure: Structure, line: u64, capacity: u64) -> Result<Geometry, BadShape> {
        Shape { structure, line, capacity }.geometry()
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for line in [0, 1, 32, 96, 4 << 20, u64::MAX] {
            assert_eq!(shape(Structure::Direct, line, 1 << 20), Err(BadShape::Line(line)));
        }
        assert_eq!(shape(Structure::Set(0), 64, 1 << 20), Err(BadShape::Ways(0)));
        let small = BadShape::TooSmall { capacity: 255, least: 256 };
        assert_eq!(shape(Structure::Set(4), 64, 255), Err(small));
        let small = BadShape::TooSmall { capacity: 0, least: 64 };
        assert_eq!(shape(Structure::Full, 64, 0), Err(small));
        assert_eq!(shape(Structure::Full, 64, u64::MAX), Err(BadShape::TooLarge(u64::MAX)));
    }

    #[test]
    fn no_capacity_is_lost_but_for_a_part_of_a_set() {
        let geometry = shape(Structure::Set(3), 128, 10_000_000).unwrap();
        assert_eq!((geometry.sets, geometry.ways), (10_000_000 / 128 / 3, 3));
        // The remainder as programs compute it.
        let magic = geometry.magic();
        for line in [0, 1, 26041, 26042, 77_777, 0x7fff_fffe] {
            let low = magic.wrapping_mul(u64::from(line));
            let set = ((u128::from(low) * u128::from(geometry.sets)) >> 64) as u32;
            assert_eq!(set * 3, geometry.first_slot(line));
        }
    }
}
