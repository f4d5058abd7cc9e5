//! What stands before the compressed columns of a block, in traces and tapes alike.

use std::io;

use super::{MAX_BLOCK_BYTES, checksum, u32_at, u64_at};

/// Bytes of the header of a block.
pub(crate) const FRAME_BYTES: usize = 40;

/// Bytes of it that come before the checksum.
const CHECKED_BYTES: usize = 32;

/// How hard zstd tries. Higher levels gain little on columns and cost much time.
const LEVEL: i32 = 1;

/// The header of a block.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Frame {
    /// Bytes of compressed columns behind the header.
    pub packed: usize,
    /// Bytes of the columns before compression.
    pub raw: usize,
    /// Two numbers whose meaning depends on the kind of block; of a trace: accesses and events.
    pub counts: [usize; 2],
    /// Number of the first access, step or region.
    pub first: u64,
    checksum: u64,
}

impl Frame {
    /// Reads a header that begins with the right magic. Each of the two counts has a limit, and
    /// words for what is beyond it.
    ///
    /// # Errors
    /// Which of its numbers makes no sense.
    pub fn parse(
        bytes: &[u8; FRAME_BYTES],
        limits: [(usize, &'static str); 2],
    ) -> Result<Self, &'static str> {
        let within = |at, (limit, problem)| {
            Some(u32_at(bytes, at) as usize).filter(|&number| number <= limit).ok_or(problem)
        };
        Ok(Self {
            packed: within(4, (MAX_BLOCK_BYTES, "a block claims to be too long"))?,
            raw: within(8, (MAX_BLOCK_BYTES, "a block claims to unpack to too much"))?,
            counts: [within(12, limits[0])?, within(16, limits[1])?],
            first: u64_at(bytes, 24),
            checksum: u64_at(bytes, 32),
        })
    }

    /// Bytes of the whole block.
    pub fn length(&self) -> u64 {
        (FRAME_BYTES + self.packed) as u64
    }
}

/// Makes blocks of columns.
pub(crate) struct Packer(zstd::bulk::Compressor<'static>);

impl Packer {
    /// # Errors
    /// If there is no memory for the compressor.
    pub fn new() -> io::Result<Self> {
        zstd::bulk::Compressor::new(LEVEL).map(Self)
    }

    /// Makes `block` a whole block that holds `columns`.
    ///
    /// # Errors
    /// What the compressor says.
    pub fn pack(
        &mut self,
        block: &mut Vec<u8>,
        columns: &[u8],
        magic: [u8; 4],
        counts: [usize; 2],
        first: u64,
    ) -> io::Result<()> {
        block.clear();
        block.resize(FRAME_BYTES + zstd::zstd_safe::compress_bound(columns.len()), 0);
        let length = self.0.compress_to_buffer(columns, &mut block[FRAME_BYTES..])?;
        block.truncate(FRAME_BYTES + length);
        let (frame, packed) = block.split_at_mut(FRAME_BYTES);
        frame[..4].copy_from_slice(&magic);
        let numbers = [packed.len(), columns.len(), counts[0], counts[1], 0];
        for (i, number) in numbers.into_iter().enumerate() {
            frame[4 + 4 * i..8 + 4 * i].copy_from_slice(&(number as u32).to_le_bytes());
        }
        frame[24..32].copy_from_slice(&first.to_le_bytes());
        let sum = checksum(&[&frame[..CHECKED_BYTES], packed]);
        frame[32..].copy_from_slice(&sum.to_le_bytes());
        Ok(())
    }
}

/// Takes the columns out of blocks.
pub(crate) struct Unpacker {
    decompressor: zstd::bulk::Decompressor<'static>,
    raw: Vec<u8>,
}

impl Unpacker {
    /// # Errors
    /// If there is no memory for the decompressor.
    pub fn new() -> io::Result<Self> {
        Ok(Self { decompressor: zstd::bulk::Decompressor::new()?, raw: Vec::new() })
    }

    /// The columns in `packed`, which stands behind the header that `bytes` holds.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn unpack(
        &mut self,
        bytes: &[u8; FRAME_BYTES],
        frame: &Frame,
        packed: &[u8],
    ) -> Result<&[u8], &'static str> {
        if checksum(&[&bytes[..CHECKED_BYTES], packed]) != frame.checksum {
            return Err("the checksum of a block does not match");
        }
        self.raw.resize(frame.raw, 0);
        let length = self.decompressor.decompress_to_buffer(packed, &mut self.raw[..]);
        match length {
            Ok(length) if length == frame.raw => Ok(&self.raw),
            _ => Err("a block cannot be decompressed"),
        }
    }
}
