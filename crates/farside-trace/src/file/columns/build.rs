//! Putting a block's columns together, access by access.

use rustc_hash::FxHashMap;

use super::{ALL_READS, ALL_WRITES, APPEARED, VANISHED, WEIGHTS, WRITE_BITS};
use crate::file::varint::{put, put_all, zigzag};
use crate::file::{BLOCK_ACCESSES, MAX_BLOCK_EVENTS, MAX_NAME_BYTES};
use crate::{Access, Mapping, PageRange};

/// Accesses that enter the columns together; they fit into a processor's first cache.
const RECENT: usize = 1 << 10;

/// Bytes of mapping names that end a block.
const NAME_BYTES: usize = 1 << 20;

/// Gathers accesses and mapping events into the columns of a block.
///
/// Accesses enter the columns soon, while they are in the processor's cache.
#[derive(Debug, Default)]
pub struct BlockBuilder {
    /// Accesses that are not in the columns yet.
    recent: Vec<Access>,
    /// What is in the columns.
    totals: Totals,
    /// Index of each thread of the block.
    threads: FxHashMap<u32, usize>,
    /// Thread and last page, by index.
    lasts: Vec<(u32, u64)>,
    /// Index and length of each run of accesses by one thread, but the last one.
    runs: Vec<(usize, usize)>,
    /// The thread of the last run and its index, where the run began, and the thread's last page.
    thread: u32,
    index: usize,
    begin: usize,
    last: u64,
    /// Whole words of the column of write bits, and the bits of a word that is not whole.
    write_bits: Vec<u8>,
    bits: u64,
    weights: Vec<u8>,
    /// Bits in which any weight differs from 1.
    uneven: u32,
    pages: Vec<u8>,
    events: Vec<u8>,
    /// Accesses before the last event.
    before_event: usize,
    name_bytes: usize,
}

/// What a block amounts to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(in crate::file) struct Totals {
    pub accesses: usize,
    pub writes: u64,
    pub weight: u64,
    pub events: usize,
    pub lowest: u64,
    pub highest: u64,
}

impl Default for Totals {
    fn default() -> Self {
        Self { accesses: 0, writes: 0, weight: 0, events: 0, lowest: u64::MAX, highest: 0 }
    }
}

/// The columns of a block, to be compressed and written by a [`BlockWriter`](crate::BlockWriter).
#[derive(Debug, Default)]
pub struct EncodedBlock {
    pub(in crate::file) columns: Vec<u8>,
    pub(in crate::file) totals: Totals,
}

impl BlockBuilder {
    /// Number of accesses gathered.
    pub fn len(&self) -> usize {
        self.totals.accesses + self.recent.len()
    }

    /// Whether there is neither an access nor an event.
    pub fn is_empty(&self) -> bool {
        self.len() == 0 && self.totals.events == 0
    }

    /// Whether what was gathered has to be [taken](Self::take) before more comes.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.totals.accesses >= BLOCK_ACCESSES
            || self.totals.events >= MAX_BLOCK_EVENTS
            || self.name_bytes >= NAME_BYTES
    }

    /// Appends an access.
    #[inline]
    pub fn push(&mut self, access: Access) {
        self.recent.push(access);
        if self.recent.len() >= RECENT.min(BLOCK_ACCESSES - self.totals.accesses) {
            self.absorb();
        }
    }

    /// Number of accesses that find room before the builder is full.
    pub fn room(&self) -> usize {
        BLOCK_ACCESSES.saturating_sub(self.len())
    }

    /// Appends accesses of `thread`, for which there must be [room](Self::room). They are looked at
    /// several times, and best kept in the processor's first cache.
    pub fn extend(&mut self, thread: u32, accesses: impl ExactSizeIterator<Item = Access> + Clone) {
        self.absorb();
        self.absorb_run(thread, accesses);
    }

    /// Moves what came recently into the columns.
    fn absorb(&mut self) {
        let recent = std::mem::take(&mut self.recent);
        for run in recent.chunk_by(|a, b| a.thread == b.thread) {
            self.absorb_run(run[0].thread, run.iter().copied());
        }
        self.recent = recent;
        self.recent.clear();
    }

    /// Moves accesses by one thread into the columns. Each column takes a loop of its own, which
    /// keeps what it needs in registers.
    fn absorb_run(&mut self, thread: u32, run: impl ExactSizeIterator<Item = Access> + Clone) {
        if run.len() == 0 {
            return;
        }
        if thread != self.thread || self.lasts.is_empty() {
            self.turn_to(thread);
        }
        self.absorb_weights(run.clone());
        self.absorb_kinds(run.clone());
        self.totals.accesses += run.len();
        let mut last = self.last;
        let difference = |access: Access| {
            let page = access.page.0;
            zigzag(page.wrapping_sub(std::mem::replace(&mut last, page)))
        };
        put_all(&mut self.pages, run.len(), run.map(difference));
        self.last = last;
    }

    fn absorb_weights(&mut self, run: impl ExactSizeIterator<Item = Access> + Clone) {
        let (mut sum, mut uneven, mut any) = (0, 0, 0);
        for access in run.clone() {
            sum += u64::from(access.weight);
            uneven |= access.weight ^ 1;
            any |= access.weight;
        }
        self.totals.weight += sum;
        self.uneven |= uneven;
        if any < 0x80 {
            self.weights.extend(run.map(|access| access.weight as u8));
        } else {
            put_all(&mut self.weights, run.len(), run.map(|access| u64::from(access.weight)));
        }
    }

    /// Kinds, and with them the extent.
    fn absorb_kinds(&mut self, run: impl ExactSizeIterator<Item = Access>) {
        let mut at = self.totals.accesses % 64;
        let mut bits = self.bits;
        let Totals { mut lowest, mut highest, .. } = self.totals;
        for access in run {
            lowest = lowest.min(access.page.0);
            highest = highest.max(access.page.0);
            bits |= u64::from(access.write) << at;
            at += 1;
            if at == 64 {
                self.end_word(bits);
                (at, bits) = (0, 0);
            }
        }
        self.bits = bits;
        (self.totals.lowest, self.totals.highest) = (lowest, highest);
    }

    fn end_word(&mut self, bits: u64) {
        self.totals.writes += u64::from(bits.count_ones());
        self.write_bits.extend_from_slice(&bits.to_le_bytes());
    }

    /// Begins a run of accesses by `thread`.
    fn turn_to(&mut self, thread: u32) {
        self.end_run();
        self.thread = thread;
        self.index = *self.threads.entry(thread).or_insert_with(|| {
            self.lasts.push((thread, 0));
            self.lasts.len() - 1
        });
        self.last = self.lasts[self.index].1;
    }

    fn end_run(&mut self) {
        let length = self.totals.accesses - self.begin;
        self.begin = self.totals.accesses;
        if length > 0 {
            self.lasts[self.index].1 = self.last;
            self.runs.push((self.index, length));
        }
    }

    /// Says that `mapping` appeared after the last access.
    ///
    /// # Errors
    /// If its name is longer than [`MAX_NAME_BYTES`]; nothing is appended then.
    pub fn map(&mut self, mapping: &Mapping) -> Result<(), NameTooLong> {
        let length = mapping.name.len();
        if length > MAX_NAME_BYTES {
            return Err(NameTooLong(length));
        }
        self.event(APPEARED, mapping.first.0, mapping.count);
        put(&mut self.events, length as u64);
        self.events.extend_from_slice(mapping.name.as_bytes());
        self.name_bytes += length;
        Ok(())
    }

    /// Says that what was mapped in `range` vanished after the last access.
    pub fn unmap(&mut self, range: PageRange) {
        self.event(VANISHED, range.first.0, range.count);
    }

    fn event(&mut self, kind: u8, first: u64, count: u64) {
        let before = self.len();
        put(&mut self.events, (before - self.before_event) as u64);
        self.before_event = before;
        self.events.push(kind);
        put(&mut self.events, first);
        put(&mut self.events, count);
        self.totals.events += 1;
    }

    /// Moves what was gathered into `block`, whose memory is used again.
    pub fn take(&mut self, block: &mut EncodedBlock) {
        self.absorb();
        self.end_run();
        self.totals.writes += u64::from(self.bits.count_ones());
        block.totals = self.totals;
        self.join(&mut block.columns);
        self.clear();
    }

    /// Puts the columns one after the other.
    fn join(&mut self, columns: &mut Vec<u8>) {
        columns.clear();
        let writes = match self.totals.writes {
            0 => ALL_READS,
            all if all == self.totals.accesses as u64 => ALL_WRITES,
            _ => WRITE_BITS,
        };
        columns.push(writes | if self.uneven == 0 { 0 } else { WEIGHTS });
        put(columns, self.lasts.len() as u64);
        self.lasts.iter().for_each(|&(thread, _)| put(columns, u64::from(thread)));
        put(columns, self.runs.len() as u64);
        for &(index, length) in &self.runs {
            put(columns, index as u64);
            put(columns, length as u64);
        }
        if writes == WRITE_BITS {
            columns.extend_from_slice(&self.write_bits);
            let rest = self.totals.accesses % 64;
            columns.extend_from_slice(&self.bits.to_le_bytes()[..rest.div_ceil(8)]);
        }
        if self.uneven != 0 {
            columns.extend_from_slice(&self.weights);
        }
        columns.extend_from_slice(&self.pages);
        columns.extend_from_slice(&self.events);
    }

    /// Forgets everything; the columns keep their memory.
    fn clear(&mut self) {
        self.totals = Totals::default();
        self.threads.clear();
        self.lasts.clear();
        self.runs.clear();
        (self.begin, self.bits, self.uneven) = (0, 0, 0);
        (self.before_event, self.name_bytes) = (0, 0);
        self.write_bits.clear();
        self.weights.clear();
        self.pages.clear();
        self.events.clear();
    }
}

/// The name of a mapping takes more than [`MAX_NAME_BYTES`] bytes: so many.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct NameTooLong(pub usize);
