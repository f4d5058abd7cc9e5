//! Tapes: what is touched, fetched and evicted in a run that is known beforehand (3PO, section
//! 3.2). The file format is described byte by byte in `docs/tape-format.md`.
//!
//! A file is a header, blocks of steps of one thread each, the table of regions, and an index with
//! a trailer. Every part carries a checksum of its own, and a block can be read without the others.
//! A tape is whole or it is refused.

mod columns;
mod draft;
mod error;
mod header;
mod index;
mod info;
mod reader;
mod regions;
mod step;
mod steps;
mod writer;

pub use error::TapeError;
pub use index::{StepCounts, TapeSummary};
pub use info::TapeInfo;
pub use reader::TapeReader;
pub use step::{Step, StepKind, TapeRegion};
pub use steps::Steps;
pub use writer::TapeWriter;

/// The version of the format that is written; those before it are read.
pub const VERSION: u16 = 2;

/// Steps in a full block.
pub const BLOCK_STEPS: usize = 1 << 16;

/// Most threads with steps on one tape.
pub const MAX_THREADS: usize = 1 << 16;

/// Most regions of one tape.
pub const MAX_REGIONS: usize = 1 << 20;

/// Most blocks of one tape.
pub const MAX_BLOCKS: usize = 1 << 20;

/// Pages of tape space; all page numbers are lower.
pub const MAX_PAGES: u64 = 1 << 62;

/// Longest description of a tape, in bytes of JSON.
pub const MAX_INFO_BYTES: usize = 1 << 20;

/// First bytes of a file. The high bit and the line ends show a transfer that took it for text.
const MAGIC: [u8; 8] = *b"\x89TAP\r\n\x1a\n";

/// Last bytes of a file.
const END_MAGIC: [u8; 8] = *b"TAP.END\n";

const BLOCK_MAGIC: [u8; 4] = *b"TBLK";
const REGIONS_MAGIC: [u8; 4] = *b"TREG";
const INDEX_MAGIC: [u8; 4] = *b"TIDX";

/// Most steps a reader takes in one block.
const MAX_BLOCK_STEPS: usize = 1 << 18;

/// Most regions in one part of the table.
const PART_REGIONS: usize = 1 << 16;

/// How many kinds of steps have an order of their own.
const ORDERS: usize = 3;
