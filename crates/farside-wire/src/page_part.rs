//! Parts of pages in the records of [`ReadParts`](crate::frame::Kind::ReadParts) and
//! [`WriteParts`](crate::frame::Kind::WriteParts): blocks of a page that follow one another.
//!
//! | bytes | of a read | of a write |
//! |---|---|---|
//! | 0-7 | bits 0-39 slot, 40-45 first block, 46-51 number of blocks less one; the others are 0 | the same |
//! | 8-15 | the least version wanted | the version that the page is to have |
//! | 16-19 | 0 | CRC32C of the part |
//! | 20-23 | 0; in the reply what became of it | that version less the least that the page may have before; in the reply what became of it |
//!
//! A part is read from a page of the wanted version or a younger one: what was stored of the page since is other parts.
//! A write says what the page has to hold already. A node that missed a write refuses all later ones, and one that comes
//! late, when the page is younger, does no harm. Parts of a page that follow one another in a write are stored together or
//! not at all.

use crate::frame::{BLOCK, Record};

/// Blocks of a page.
pub const BLOCKS: u32 = 64;

const SLOT_BITS: u32 = 40;

/// Which part of which page.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct PagePart {
    /// The page's slot, below 2 to the power of 40.
    pub slot: u64,
    /// The first block.
    pub first: u32,
    /// Number of blocks; there is at least one.
    pub count: u32,
}

impl PagePart {
    /// The part that holds some bytes of a page, of which there is one at least.
    pub fn around(slot: u64, bytes: std::ops::Range<usize>) -> Self {
        let first = bytes.start / BLOCK;
        let count = bytes.end.div_ceil(BLOCK) - first;
        Self { slot, first: first as u32, count: count as u32 }
    }

    /// Its bytes in the page.
    pub fn range(&self) -> std::ops::Range<usize> {
        let start = self.first as usize * BLOCK;
        start..start + self.len()
    }

    /// Number of its bytes.
    pub fn len(&self) -> usize {
        self.count as usize * BLOCK
    }

    /// No part is.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn pack(self) -> u64 {
        let place = self.first | (self.count.max(1) - 1) << 6;
        self.slot | u64::from(place) << SLOT_BITS
    }

    /// The part that a record is about; `None` if there can be no such part.
    pub fn of(record: &Record) -> Option<Self> {
        let place = record.slot >> SLOT_BITS;
        let (first, count) = ((place & 63) as u32, (place >> 6 & 63) as u32 + 1);
        let slot = record.slot & ((1 << SLOT_BITS) - 1);
        (place >> 12 == 0 && first + count <= BLOCKS).then_some(Self { slot, first, count })
    }

    /// What asks for it.
    pub fn read(self, version: u64) -> Record {
        Record { slot: self.pack(), version, check: 0, code: 0 }
    }

    /// What stores it, as `version` of a page that has at least the version `before`; `None` if that is too long ago to be
    /// said.
    pub fn write(self, version: u64, before: u64, check: u32) -> Option<Record> {
        let code = u32::try_from(version.checked_sub(before)?).ok()?;
        Some(Record { slot: self.pack(), version, check, code })
    }

    /// The least version that the page of a write has to have; `None` if there can be no such version.
    pub fn before(write: &Record) -> Option<u64> {
        write.version.checked_sub(write.code.into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn part() -> impl Strategy<Value = PagePart> {
        (0u64..1 << SLOT_BITS, 0..BLOCKS)
            .prop_flat_map(|(slot, first)| (Just(slot), Just(first), 1..=BLOCKS - first))
            .prop_map(|(slot, first, count)| PagePart { slot, first, count })
    }

    proptest! {
        #[test]
        fn parts_survive_the_wire(part in part(), before: u64, more in 0..=u32::MAX) {
            prop_assert_eq!(PagePart::of(&part.read(before)), Some(part));
            prop_assert_eq!(PagePart::around(part.slot, part.range()), part);
            if let Some(version) = before.checked_add(more.into()) {
                let write = part.write(version, before, 7).unwrap();
                prop_assert_eq!(PagePart::of(&write), Some(part));
                prop_assert_eq!(PagePart::before(&write), Some(before));
                prop_assert_eq!((write.version, write.check), (version, 7));
            }
        }

        #[test]
        fn any_record_is_a_part_of_a_page_or_none(slot: u64, version: u64, code: u32) {
            let record = Record { slot, version, check: 0, code };
            if let Some(part) = PagePart::of(&record) {
                prop_assert_eq!(part.read(version).slot, slot);
                prop_assert!(part.range().end <= 4096 && !part.is_empty());
            }
            prop_assert_eq!(PagePart::before(&record).is_some(), version >= code.into());
        }
    }

    #[test]
    fn what_was_stored_too_long_ago_cannot_be_said() {
        let part = PagePart { slot: 1, first: 0, count: 64 };
        assert!(part.write(u64::from(u32::MAX) + 5, 5, 0).is_some());
        assert_eq!(part.write(u64::from(u32::MAX) + 6, 5, 0), None);
        assert_eq!(part.write(4, 5, 0), None);
    }
}
