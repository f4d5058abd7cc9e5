//! Where the blocks are, and what they amount to: the last parts of a file.

use super::columns::Totals;
use super::{END_MAGIC, INDEX_MAGIC, MAX_INDEX_ENTRIES, checksum, u32_at, u64_at};
use crate::PageId;

/// Bytes before the entries.
pub(super) const FIXED_BYTES: usize = 64;

const ENTRY_BYTES: usize = 16;
const CHECKSUM_BYTES: usize = 8;

/// Bytes of the trailer.
pub(super) const TRAILER_BYTES: usize = 16;

/// What a whole trace amounts to.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Number of accesses.
    pub accesses: u64,
    /// Those of them that write.
    pub writes: u64,
    /// Sum of their weights.
    pub weight: u64,
    /// Number of mapping events.
    pub mapping_events: u64,
    /// Lowest page; 0 if there are no accesses.
    pub lowest: PageId,
    /// Highest page; 0 if there are no accesses.
    pub highest: PageId,
    /// Number of blocks.
    pub blocks: u64,
}

impl Summary {
    /// Adds a block.
    pub(super) fn add(&mut self, block: &Totals) {
        let (lowest, highest) = (PageId(block.lowest), PageId(block.highest));
        if self.accesses == 0 && block.accesses > 0 {
            (self.lowest, self.highest) = (lowest, highest);
        } else if block.accesses > 0 {
            self.lowest = self.lowest.min(lowest);
            self.highest = self.highest.max(highest);
        }
        self.accesses += block.accesses as u64;
        self.writes += block.writes;
        self.weight = self.weight.saturating_add(block.weight);
        self.mapping_events += block.events as u64;
        self.blocks += 1;
    }
}

/// One block that the index knows.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Where it begins.
    pub offset: u64,
    /// Number of its first access.
    pub first: u64,
}

/// Some blocks of a file in order: every one, or every second, fourth, ... of a very long trace.
#[derive(Debug)]
pub(super) struct Index {
    entries: Vec<Entry>,
    stride: u64,
    blocks: u64,
}

impl Default for Index {
    fn default() -> Self {
        Self { entries: Vec::new(), stride: 1, blocks: 0 }
    }
}

impl Index {
    /// Adds the next block.
    pub fn push(&mut self, entry: Entry) {
        if self.entries.len() == MAX_INDEX_ENTRIES {
            let mut kept = 0;
            self.entries.retain(|_| {
                kept += 1;
                kept % 2 == 1
            });
            self.stride *= 2;
        }
        if self.blocks.is_multiple_of(self.stride) {
            self.entries.push(entry);
        }
        self.blocks += 1;
    }

    /// The last known block that begins before `access`, so that events right before it are met.
    pub fn before(&self, access: u64) -> Option<Entry> {
        let after = self.entries.partition_point(|entry| entry.first < access);
        self.entries[..after].last().copied()
    }

    /// The index and the trailer, to be written at `offset`.
    pub fn encode(&self, summary: &Summary, offset: u64) -> Vec<u8> {
        let mut bytes = INDEX_MAGIC.to_vec();
        bytes.extend_from_slice(&(self.entries.len() as u32).to_le_bytes());
        let numbers = [
            summary.blocks,
            summary.accesses,
            summary.writes,
            summary.weight,
            summary.mapping_events,
            summary.lowest.0,
            summary.highest.0,
        ];
        numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
        for entry in &self.entries {
            bytes.extend_from_slice(&entry.offset.to_le_bytes());
            bytes.extend_from_slice(&entry.first.to_le_bytes());
        }
        let sum = checksum(&[&bytes]);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes.extend_from_slice(&offset.to_le_bytes());
        bytes.extend_from_slice(&END_MAGIC);
        bytes
    }

    /// Bytes behind the fixed ones up to the end of the file, as those say.
    ///
    /// # Errors
    /// What makes no sense.
    pub fn rest_bytes(fixed: &[u8; FIXED_BYTES]) -> Result<usize, &'static str> {
        match u32_at(fixed, 4) as usize {
            entries if entries <= MAX_INDEX_ENTRIES => {
                Ok(entries * ENTRY_BYTES + CHECKSUM_BYTES + TRAILER_BYTES)
            }
            _ => Err("the index claims too many entries"),
        }
    }

    /// Reads an index that begins at `offset`, with its trailer.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(
        fixed: &[u8; FIXED_BYTES],
        rest: &[u8],
        offset: u64,
    ) -> Result<(Self, Summary), &'static str> {
        let (entries, tail) = rest.split_at(rest.len() - CHECKSUM_BYTES - TRAILER_BYTES);
        if checksum(&[fixed, entries]) != u64_at(tail, 0) {
            return Err("the checksum of the index does not match");
        }
        if u64_at(tail, 8) != offset || tail[16..] != END_MAGIC {
            return Err("the trailer does not belong to the index");
        }
        let entries: Vec<_> = entries
            .chunks_exact(ENTRY_BYTES)
            .map(|bytes| Entry { offset: u64_at(bytes, 0), first: u64_at(bytes, 8) })
            .collect();
        let summary = Summary {
            blocks: u64_at(fixed, 8),
            accesses: u64_at(fixed, 16),
            writes: u64_at(fixed, 24),
            weight: u64_at(fixed, 32),
            mapping_events: u64_at(fixed, 40),
            lowest: PageId(u64_at(fixed, 48)),
            highest: PageId(u64_at(fixed, 56)),
        };
        let ordered = entries.is_sorted_by(|a, b| a.offset < b.offset && a.first <= b.first);
        if !ordered || entries.last().is_some_and(|last| last.offset >= offset) {
            return Err("the index is out of order");
        }
        Ok((Self { entries, stride: 1, blocks: summary.blocks }, summary))
    }

    /// The offset of the index, if `trailer` is one.
    pub fn offset_from(trailer: &[u8; TRAILER_BYTES]) -> Option<u64> {
        (trailer[8..] == END_MAGIC).then(|| u64_at(trailer, 0))
    }
}
