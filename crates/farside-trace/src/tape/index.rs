//! Where the blocks are, and what they amount to: the last parts of a file.

use std::collections::BTreeMap;

use super::{
    END_MAGIC, INDEX_MAGIC, MAX_BLOCK_STEPS, MAX_BLOCKS, MAX_REGIONS, MAX_THREADS, StepKind,
};
use crate::file::frame::FRAME_BYTES;
use crate::file::{MAX_BLOCK_BYTES, checksum, u32_at, u64_at};

/// Bytes before the entries.
const FIXED_BYTES: usize = 16;

const THREAD_BYTES: usize = 32;
const BLOCK_BYTES: usize = 12;
const CHECKSUM_BYTES: usize = 8;

/// Bytes of the trailer.
pub(super) const TRAILER_BYTES: usize = 16;

/// Fewest and most bytes of an index without its trailer.
pub(super) const LEAST_BYTES: u64 = (FIXED_BYTES + CHECKSUM_BYTES) as u64;
pub(super) const MOST_BYTES: u64 =
    LEAST_BYTES + (MAX_THREADS * THREAD_BYTES + MAX_BLOCKS * BLOCK_BYTES) as u64;

/// How many steps there are of each kind.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct StepCounts {
    /// Pages that are used for the first time.
    pub touches: u64,
    /// Pages that are fetched.
    pub fetches: u64,
    /// Pages that are evicted.
    pub evicts: u64,
}

impl StepCounts {
    /// All steps.
    pub fn steps(&self) -> u64 {
        self.touches.saturating_add(self.fetches).saturating_add(self.evicts)
    }

    /// Adds a step.
    #[inline]
    pub(super) fn count(&mut self, kind: StepKind) {
        match kind {
            StepKind::Touch => self.touches += 1,
            StepKind::Fetch | StepKind::FetchToWrite => self.fetches += 1,
            StepKind::Evict => self.evicts += 1,
        }
    }
}

/// What a whole tape amounts to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TapeSummary {
    /// The steps of each thread that has any.
    pub threads: BTreeMap<u32, StepCounts>,
    /// Number of regions.
    pub regions: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// Length of the file in bytes.
    pub bytes: u64,
}

impl TapeSummary {
    /// The steps of all threads together.
    pub fn total(&self) -> StepCounts {
        self.threads.values().fold(StepCounts::default(), |sum, thread| StepCounts {
            touches: sum.touches.saturating_add(thread.touches),
            fetches: sum.fetches.saturating_add(thread.fetches),
            evicts: sum.evicts.saturating_add(thread.evicts),
        })
    }
}

/// One block.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Where it begins.
    pub offset: u64,
    /// Bytes of it.
    pub length: u32,
    /// Whose steps it holds.
    pub thread: u32,
    /// How many.
    pub steps: u32,
}

/// The index and the trailer, to be written at `offset`.
pub(super) fn encode(entries: &[Entry], summary: &TapeSummary, offset: u64) -> Vec<u8> {
    let mut bytes = INDEX_MAGIC.to_vec();
    for count in [entries.len(), summary.threads.len(), summary.regions as usize] {
        bytes.extend_from_slice(&(count as u32).to_le_bytes());
    }
    for (thread, counts) in &summary.threads {
        bytes.extend_from_slice(&u64::from(*thread).to_le_bytes());
        let numbers = [counts.touches, counts.fetches, counts.evicts];
        numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
    }
    for entry in entries {
        let numbers = [entry.length, entry.thread, entry.steps];
        numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
    }
    let sum = checksum(&[&bytes]);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes.extend_from_slice(&offset.to_le_bytes());
    bytes.extend_from_slice(&END_MAGIC);
    bytes
}

/// Where the index begins, if `trailer` ends a tape.
pub(super) fn offset_from(trailer: &[u8; TRAILER_BYTES]) -> Option<u64> {
    (trailer[8..] == END_MAGIC).then(|| u64_at(trailer, 0))
}

/// What an index says.
pub(super) struct Index {
    /// The blocks thread by thread, those of each in order.
    pub entries: Vec<Entry>,
    /// Where the blocks end.
    pub end: u64,
    /// Its `bytes` are not known here.
    pub summary: TapeSummary,
}

impl Index {
    /// Reads an index, which is as long as `bytes`; the first block begins at `start`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(bytes: &[u8], start: u64) -> Result<Self, &'static str> {
        let (checked, sum) = bytes.split_at(bytes.len() - CHECKSUM_BYTES);
        if checked[..4] != INDEX_MAGIC {
            return Err("no index begins where it should");
        }
        if checksum(&[checked]) != u64_at(sum, 0) {
            return Err("the checksum of the index does not match");
        }
        let [blocks, threads, regions] = [4, 8, 12].map(|at| u32_at(checked, at) as usize);
        if blocks > MAX_BLOCKS || threads > MAX_THREADS || regions > MAX_REGIONS {
            return Err("the index claims too many entries");
        }
        let (threads, blocks) = checked[FIXED_BYTES..]
            .split_at_checked(threads * THREAD_BYTES)
            .filter(|(_, rest)| rest.len() == blocks * BLOCK_BYTES)
            .ok_or("the index has another length than it says")?;
        let threads = parse_threads(threads)?;
        let (mut entries, end) = parse_blocks(blocks, start)?;
        entries.sort_by_key(|entry| entry.thread);
        compare(&entries, &threads)?;
        let (regions, blocks) = (regions as u64, entries.len() as u64);
        Ok(Self { entries, end, summary: TapeSummary { threads, regions, blocks, bytes: 0 } })
    }
}

fn parse_threads(bytes: &[u8]) -> Result<BTreeMap<u32, StepCounts>, &'static str> {
    let mut threads = BTreeMap::new();
    for bytes in bytes.chunks_exact(THREAD_BYTES) {
        let thread = u32::try_from(u64_at(bytes, 0)).map_err(|_| "a thread has no such number")?;
        let counts = StepCounts {
            touches: u64_at(bytes, 8),
            fetches: u64_at(bytes, 16),
            evicts: u64_at(bytes, 24),
        };
        if threads.last_key_value().is_some_and(|(&last, _)| last >= thread) {
            return Err("the threads of the index are out of order");
        }
        threads.insert(thread, counts);
    }
    Ok(threads)
}

/// The blocks in the order of the file, and where they end.
fn parse_blocks(bytes: &[u8], start: u64) -> Result<(Vec<Entry>, u64), &'static str> {
    let mut offset = start;
    let mut entries = Vec::with_capacity(bytes.len() / BLOCK_BYTES);
    for bytes in bytes.chunks_exact(BLOCK_BYTES) {
        let [length, thread, steps] = [0, 4, 8].map(|at| u32_at(bytes, at));
        if !(FRAME_BYTES..=FRAME_BYTES + MAX_BLOCK_BYTES).contains(&(length as usize)) {
            return Err("a block has a length that cannot be");
        }
        if !(1..=MAX_BLOCK_STEPS).contains(&(steps as usize)) {
            return Err("a block has a number of steps that cannot be");
        }
        entries.push(Entry { offset, length, thread, steps });
        offset = offset.checked_add(u64::from(length)).ok_or("the blocks are too long")?;
    }
    Ok((entries, offset))
}

/// Checks that the blocks hold the steps that the threads have.
fn compare(entries: &[Entry], threads: &BTreeMap<u32, StepCounts>) -> Result<(), &'static str> {
    let mut blocks = entries.chunk_by(|a, b| a.thread == b.thread);
    for (thread, counts) in threads {
        let block = blocks.next().filter(|block| block[0].thread == *thread);
        let steps = block.map(|block| block.iter().map(|entry| u64::from(entry.steps)).sum());
        if steps != Some(counts.steps()) {
            return Err("the blocks of the index do not hold the steps of its threads");
        }
    }
    if blocks.next().is_some() { Err("the index has blocks of unknown threads") } else { Ok(()) }
}
