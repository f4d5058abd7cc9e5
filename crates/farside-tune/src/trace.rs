//! The accesses to sections that an instrumented run wrote down: a sample in space, in the order of time.
//!
//! Records are 64 bits, little-endian. Bits 63 to 56: the section's number, from 1 on; 0 in a record of the time, whose
//! other bits are nanoseconds since the start. Bit 55: it writes. Bits 54 to 48: the binary logarithm of how many
//! blocks of 64 bytes it comes to. Bits 47 to 0: the first of them, below 2^42.

use std::io::{self, Read};

/// Bytes of a block.
pub const BLOCK: u64 = 64;

/// Blocks are numbered below this: those of all that a program can address.
const END: u64 = 1 << 42;

/// Most blocks that an access comes to, as a logarithm: a line of 2 MiB.
const MOST_BLOCKS: u8 = 15;

/// A record.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// Nanoseconds since the start.
    Time(u64),
    /// An access.
    Access {
        /// The section: its place in the profile's list.
        section: usize,
        /// The first block, by its number in the section.
        block: u64,
        /// The logarithm of how many.
        blocks: u8,
        /// Whether it writes.
        written: bool,
    },
}

impl Record {
    /// Reads a record; none if it makes no sense.
    pub fn decode(word: u64) -> Option<Self> {
        let section = (word >> 56) as usize;
        if section == 0 {
            return Some(Self::Time(word & ((1 << 56) - 1)));
        }
        let blocks = (word >> 48 & 0x7f) as u8;
        let block = word & ((1 << 48) - 1);
        let written = word >> 55 & 1 == 1;
        (blocks <= MOST_BLOCKS && block < END).then_some(Self::Access {
            section: section - 1,
            block,
            blocks,
            written,
        })
    }
}

/// Hands over all records of a trace.
///
/// # Errors
/// If it cannot be read, ends within a record, or has one that makes no sense.
pub fn read(mut from: impl Read, mut each: impl FnMut(Record)) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    let mut kept = 0;
    loop {
        let got = from.read(&mut buffer[kept..])?;
        let whole = (kept + got) & !7;
        for word in buffer[..whole].chunks_exact(8) {
            let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
            let bad = || io::Error::other(format!("{word:#x} is no record of a trace"));
            each(Record::decode(word).ok_or_else(bad)?);
        }
        if got == 0 {
            return if kept == 0 { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
        }
        buffer.copy_within(whole..kept + got, 0);
        kept = kept + got - whole;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn records_are_read_as_they_are_written() {
        let words: [u64; 3] = [5, 1 << 56 | 1 << 55 | 6 << 48 | 77, 200 << 56];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut seen = Vec::new();
        read(&bytes[..], |record| seen.push(record)).unwrap();
        let access =
            |section, block, blocks, written| Record::Access { section, block, blocks, written };
        assert_eq!(seen, [Record::Time(5), access(0, 77, 6, true), access(199, 0, 0, false)]);
        assert!(read(&bytes[..20], |_| ()).is_err());
        assert!(read(&(1_u64 << 56 | 100 << 48).to_le_bytes()[..], |_| ()).is_err());
        assert!(read(&(1_u64 << 56 | 1 << 42).to_le_bytes()[..], |_| ()).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut count = 0;
            let result = read(&bytes[..], |_| count += 1);
            prop_assert!(count <= bytes.len() / 8);
            prop_assert!(result.is_err() || count * 8 == bytes.len());
        }
    }
}
