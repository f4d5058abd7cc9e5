//! The content of a block, column by column, before compression.
//!
//! Pages are stored as differences to the page that the same thread accessed before, beginning with
//! page 0 in every block, so that interleaved threads do not disturb each other's patterns.

mod batch;
mod build;
mod decode;

pub(super) use build::Totals;
pub use build::{BlockBuilder, EncodedBlock, NameTooLong};
pub(super) use decode::decode;

/// How the kind of access is stored.
const ALL_READS: u8 = 0;
const ALL_WRITES: u8 = 1;
const WRITE_BITS: u8 = 2;
const WRITE_MASK: u8 = 3;

/// Set if the weights are stored; without it all are 1.
const WEIGHTS: u8 = 4;

const APPEARED: u8 = 0;
const VANISHED: u8 = 1;
