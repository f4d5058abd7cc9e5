//! Farside's own trace format, described byte by byte in `docs/trace-format.md`.
//!
//! A file is a header, blocks, and an index with a trailer. Every part carries a checksum of its own,
//! and a block can be read without the others.

mod blocks;
mod columns;
pub(crate) mod frame;
mod header;
mod index;
mod reader;
mod source;
pub(crate) mod varint;
mod writer;

pub use blocks::BlockWriter;
pub use columns::{BlockBuilder, EncodedBlock, NameTooLong};
pub use index::Summary;
pub use reader::Cut;
pub(crate) use reader::FileReader;
pub(crate) use source::{Plain, Seekable, Source};
pub use writer::TraceWriter;

/// The version of the format that is written and read.
pub const VERSION: u16 = 1;

/// Accesses in a full block.
pub const BLOCK_ACCESSES: usize = 1 << 16;

/// Longest metadata, in bytes of JSON.
pub const MAX_METADATA_BYTES: usize = 1 << 20;

/// Longest name of a mapping, in bytes.
pub const MAX_NAME_BYTES: usize = 4096;

/// First bytes of a file. The high bit and the line ends show a transfer that took it for text.
pub(crate) const MAGIC: [u8; 8] = *b"\x89FPT\r\n\x1a\n";

/// Last bytes of a whole file.
const END_MAGIC: [u8; 8] = *b"FPT.END\n";

const BLOCK_MAGIC: [u8; 4] = *b"FBLK";
const INDEX_MAGIC: [u8; 4] = *b"FIDX";

/// Most accesses a reader takes in one block.
const MAX_BLOCK_ACCESSES: usize = 1 << 18;

/// Most mapping events in one block.
const MAX_BLOCK_EVENTS: usize = 1 << 14;

/// Most bytes that a block's columns may take, before and after compression.
pub(crate) const MAX_BLOCK_BYTES: usize = 16 << 20;

/// Most entries in the index.
const MAX_INDEX_ENTRIES: usize = 1 << 16;

/// The four bytes of `bytes` from `at` on as a number.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(number)
}

/// The eight bytes of `bytes` from `at` on as a number.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}

/// The checksum of `parts` one after the other: XXH3, 64 bits, seed 0.
pub(crate) fn checksum(parts: &[&[u8]]) -> u64 {
    use std::hash::Hasher;
    let mut hasher = twox_hash::XxHash3_64::new();
    parts.iter().for_each(|part| hasher.write(part));
    hasher.finish()
}
