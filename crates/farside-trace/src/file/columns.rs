//! The content of a block, column by column, before compression.
//!
//! Pages are stored as differences to the page that the same thread accessed before, beginning with
//! page 0 in every block, so that interleaved threads do not disturb each other's patterns.

use rustc_hash::FxHashMap;

use super::varint::{Cursor, put, unzigzag, zigzag};
use super::{MAX_BLOCK_EVENTS, MAX_NAME_BYTES};
use crate::{Access, Block, Mapping, MappingChange, MappingEvent, PageId, PageRange};

/// How the kind of access is stored.
const ALL_READS: u8 = 0;
const ALL_WRITES: u8 = 1;
const WRITE_BITS: u8 = 2;
const WRITE_MASK: u8 = 3;

/// Set if the weights are stored; without it all are 1.
const WEIGHTS: u8 = 4;

const APPEARED: u8 = 0;
const VANISHED: u8 = 1;

/// Turns blocks into bytes; keeps its tables between blocks.
#[derive(Default)]
pub(super) struct Encoder {
    /// Index of each thread of the block.
    threads: FxHashMap<u32, usize>,
    /// Thread and last page, by index.
    lasts: Vec<(u32, u64)>,
    /// Index and length of each run of accesses by one thread.
    runs: Vec<(usize, usize)>,
    deltas: Vec<u8>,
}

impl Encoder {
    /// Writes the columns of `block` into `raw`, which is emptied first.
    pub fn encode(&mut self, block: &Block, raw: &mut Vec<u8>) {
        raw.clear();
        self.split_into_runs(&block.accesses);
        let writes = writes_form(&block.accesses);
        let weights = block.accesses.iter().any(|access| access.weight != 1);
        raw.push(writes | if weights { WEIGHTS } else { 0 });
        put(raw, self.lasts.len() as u64);
        self.lasts.iter().for_each(|&(thread, _)| put(raw, u64::from(thread)));
        put(raw, self.runs.len() as u64);
        for &(index, length) in &self.runs {
            put(raw, index as u64);
            put(raw, length as u64);
        }
        if writes == WRITE_BITS {
            raw.extend(block.accesses.chunks(8).map(write_bits));
        }
        if weights {
            block.accesses.iter().for_each(|access| put(raw, u64::from(access.weight)));
        }
        raw.extend_from_slice(&self.deltas);
        encode_events(block, raw);
    }

    /// Fills the table of threads, the runs, and the page differences.
    fn split_into_runs(&mut self, accesses: &[Access]) {
        self.threads.clear();
        self.lasts.clear();
        self.runs.clear();
        self.deltas.clear();
        for run in accesses.chunk_by(|a, b| a.thread == b.thread) {
            let thread = run[0].thread;
            let index = *self.threads.entry(thread).or_insert_with(|| {
                self.lasts.push((thread, 0));
                self.lasts.len() - 1
            });
            let mut last = self.lasts[index].1;
            for access in run {
                put(&mut self.deltas, zigzag(access.page.0.wrapping_sub(last)));
                last = access.page.0;
            }
            self.lasts[index].1 = last;
            self.runs.push((index, run.len()));
        }
    }
}

fn writes_form(accesses: &[Access]) -> u8 {
    match accesses.iter().filter(|access| access.write).count() {
        0 => ALL_READS,
        all if all == accesses.len() => ALL_WRITES,
        _ => WRITE_BITS,
    }
}

/// The kinds of up to eight accesses, the first in the lowest bit.
fn write_bits(accesses: &[Access]) -> u8 {
    accesses.iter().rev().fold(0, |bits, access| bits << 1 | u8::from(access.write))
}

fn encode_events(block: &Block, raw: &mut Vec<u8>) {
    let mut last = block.first;
    for event in &block.events {
        put(raw, event.access - last);
        last = event.access;
        match &event.change {
            MappingChange::Appeared(mapping) => {
                raw.push(APPEARED);
                put(raw, mapping.first.0);
                put(raw, mapping.count);
                put(raw, mapping.name.len() as u64);
                raw.extend_from_slice(mapping.name.as_bytes());
            }
            MappingChange::Vanished(range) => {
                raw.push(VANISHED);
                put(raw, range.first.0);
                put(raw, range.count);
            }
        }
    }
}

/// Reads the columns in `raw`: `accesses` accesses and `events` events from access `first` on.
///
/// # Errors
/// What is wrong with the bytes.
pub(super) fn decode(
    raw: &[u8],
    first: u64,
    accesses: usize,
    events: usize,
    block: &mut Block,
) -> Result<(), &'static str> {
    block.clear(first);
    let mut cursor = Cursor::new(raw);
    let flags = cursor.bytes(1).ok_or("it is empty")?[0];
    if flags & !(WRITE_MASK | WEIGHTS) != 0 || flags & WRITE_MASK > WRITE_BITS {
        return Err("it has unknown flags");
    }
    let threads = decode_threads(&mut cursor, accesses).ok_or("its threads make no sense")?;
    let runs = decode_runs(&mut cursor, accesses, threads.len()).ok_or("its runs make no sense")?;
    let bits = match flags & WRITE_MASK {
        WRITE_BITS => cursor.bytes(accesses.div_ceil(8)).ok_or("its write bits are cut short")?,
        _ => &[],
    };
    let mut weights = Cursor::new(&[]);
    if flags & WEIGHTS != 0 {
        weights = skip_numbers(&mut cursor, accesses).ok_or("its weights are cut short")?;
    }
    let write = flags & WRITE_MASK == ALL_WRITES;
    decode_pages(&mut cursor, threads, &runs, write, block).ok_or("its pages are cut short")?;
    for (i, access) in block.accesses.iter_mut().enumerate().take(bits.len() * 8) {
        access.write = bits[i / 8] >> (i % 8) & 1 != 0;
    }
    if flags & WEIGHTS != 0 {
        decode_weights(&mut weights, block).ok_or("a weight is too large")?;
    }
    decode_events(&mut cursor, accesses, events, block).ok_or("its mappings make no sense")?;
    if cursor.is_empty() { Ok(()) } else { Err("it has bytes left over") }
}

/// Thread and last page by index.
fn decode_threads(cursor: &mut Cursor<'_>, accesses: usize) -> Option<Vec<(u32, u64)>> {
    let count = cursor.at_most(accesses as u64)?;
    (0..count)
        .map(|_| cursor.at_most(u64::from(u32::MAX)).map(|thread| (thread as u32, 0)))
        .collect()
}

fn decode_runs(
    cursor: &mut Cursor<'_>,
    accesses: usize,
    threads: usize,
) -> Option<Vec<(usize, usize)>> {
    let count = cursor.at_most(accesses as u64)?;
    let mut left = accesses;
    let runs = (0..count).map(|_| {
        let index = cursor.number().filter(|&index| index < threads as u64)?;
        let length = cursor.at_most(left as u64)?;
        left -= length as usize;
        Some((index as usize, length as usize))
    });
    let runs = runs.collect::<Option<Vec<_>>>()?;
    (left == 0).then_some(runs)
}

/// A cursor on the next `count` numbers, which are passed over.
fn skip_numbers<'a>(cursor: &mut Cursor<'a>, count: usize) -> Option<Cursor<'a>> {
    let rest = cursor.rest();
    for _ in 0..count {
        cursor.number()?;
    }
    Some(Cursor::new(rest))
}

fn decode_pages(
    cursor: &mut Cursor<'_>,
    mut threads: Vec<(u32, u64)>,
    runs: &[(usize, usize)],
    write: bool,
    block: &mut Block,
) -> Option<()> {
    for &(index, length) in runs {
        let (thread, mut last) = threads[index];
        block.accesses.reserve(length);
        for _ in 0..length {
            last = last.wrapping_add(unzigzag(cursor.number()?));
            block.accesses.push(Access { page: PageId(last), write, thread, weight: 1 });
        }
        threads[index].1 = last;
    }
    Some(())
}

fn decode_weights(weights: &mut Cursor<'_>, block: &mut Block) -> Option<()> {
    for access in &mut block.accesses {
        access.weight = weights.at_most(u64::from(u32::MAX))? as u32;
    }
    Some(())
}

fn decode_events(
    cursor: &mut Cursor<'_>,
    accesses: usize,
    events: usize,
    block: &mut Block,
) -> Option<()> {
    let mut left = accesses as u64;
    debug_assert!(events <= MAX_BLOCK_EVENTS);
    for _ in 0..events {
        left -= cursor.at_most(left)?;
        let access = block.first + (accesses as u64 - left);
        let kind = cursor.bytes(1)?[0];
        let first = PageId(cursor.number()?);
        let count = cursor.number()?;
        let change = match kind {
            APPEARED => {
                let length = cursor.at_most(MAX_NAME_BYTES as u64)?;
                let name = std::str::from_utf8(cursor.bytes(length as usize)?).ok()?.to_owned();
                MappingChange::Appeared(Mapping { first, count, name })
            }
            VANISHED => MappingChange::Vanished(PageRange { first, count }),
            _ => return None,
        };
        block.events.push(MappingEvent { access, change });
    }
    Some(())
}
