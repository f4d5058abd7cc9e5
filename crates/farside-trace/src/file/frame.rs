//! What stands before the compressed columns of a block.

use super::{
    BLOCK_MAGIC, MAX_BLOCK_ACCESSES, MAX_BLOCK_BYTES, MAX_BLOCK_EVENTS, checksum, u32_at, u64_at,
};

/// Bytes of the header of a block.
pub(super) const FRAME_BYTES: usize = 40;

/// Bytes of it that come before the checksum.
const CHECKED_BYTES: usize = 32;

/// The header of a block.
#[derive(Copy, Clone, Debug)]
pub(super) struct Frame {
    /// Bytes of compressed columns behind the header.
    pub packed: usize,
    /// Bytes of the columns before compression.
    pub raw: usize,
    pub accesses: usize,
    pub events: usize,
    /// Number of the first access.
    pub first: u64,
    checksum: u64,
}

impl Frame {
    /// Writes the header into the first bytes of `bytes`, whose rest is the compressed columns.
    pub fn seal(bytes: &mut [u8], raw: usize, accesses: usize, events: usize, first: u64) {
        let (frame, packed) = bytes.split_at_mut(FRAME_BYTES);
        frame[..4].copy_from_slice(&BLOCK_MAGIC);
        for (i, number) in [packed.len(), raw, accesses, events, 0].into_iter().enumerate() {
            frame[4 + 4 * i..8 + 4 * i].copy_from_slice(&(number as u32).to_le_bytes());
        }
        frame[24..32].copy_from_slice(&first.to_le_bytes());
        let sum = checksum(&[&frame[..CHECKED_BYTES], packed]);
        frame[32..].copy_from_slice(&sum.to_le_bytes());
    }

    /// Reads a header that begins with the magic of blocks.
    ///
    /// # Errors
    /// Which of its numbers makes no sense.
    pub fn parse(bytes: &[u8; FRAME_BYTES]) -> Result<Self, &'static str> {
        let within = |at, limit: usize, problem| {
            Some(u32_at(bytes, at) as usize).filter(|&number| number <= limit).ok_or(problem)
        };
        Ok(Self {
            packed: within(4, MAX_BLOCK_BYTES, "a block claims to be too long")?,
            raw: within(8, MAX_BLOCK_BYTES, "a block claims to unpack to too much")?,
            accesses: within(12, MAX_BLOCK_ACCESSES, "a block claims too many accesses")?,
            events: within(16, MAX_BLOCK_EVENTS, "a block claims too many mapping events")?,
            first: u64_at(bytes, 24),
            checksum: u64_at(bytes, 32),
        })
    }

    /// Whether the checksum is that of the header and the compressed columns.
    pub fn matches(&self, bytes: &[u8; FRAME_BYTES], packed: &[u8]) -> bool {
        checksum(&[&bytes[..CHECKED_BYTES], packed]) == self.checksum
    }

    /// Bytes of the whole block.
    pub fn length(&self) -> u64 {
        (FRAME_BYTES + self.packed) as u64
    }
}
