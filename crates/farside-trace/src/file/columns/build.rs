//! Putting a block's columns together, access by access.

use rustc_hash::FxHashMap;

use super::batch::{BATCH_ACCESSES, Batch};
use super::{ALL_READS, ALL_WRITES, APPEARED, VANISHED, WEIGHTS, WRITE_BITS};
use crate::file::varint::{put, put_all};
use crate::file::{BLOCK_ACCESSES, MAX_BLOCK_EVENTS, MAX_NAME_BYTES};
use crate::{Access, Mapping, PageId, PageRange};

/// Bytes of mapping names that end a block.
const NAME_BYTES: usize = 1 << 20;

/// Gathers accesses and mapping events into the columns of a block.
///
/// Accesses enter the columns many at a time, while they are in the processor's cache.
#[derive(Debug, Default)]
pub struct BlockBuilder {
    /// Accesses that are not in the columns yet.
    recent: Box<Batch>,
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
        self.turn_to(access.thread);
        let page = access.page.0;
        self.recent.push(self.last, page, access.weight, access.write);
        self.last = page;
        self.absorb_full();
    }

    /// Number of accesses that find room before the builder is full.
    pub fn room(&self) -> usize {
        BLOCK_ACCESSES.saturating_sub(self.len())
    }

    /// Appends accesses of `thread`, for which there must be [room](Self::room): page, weight, and
    /// whether it writes.
    pub fn extend(
        &mut self,
        thread: u32,
        mut accesses: impl ExactSizeIterator<Item = (PageId, u32, bool)>,
    ) {
        self.turn_to(thread);
        if accesses.len() > self.recent.room() {
            self.absorb();
        }
        while accesses.len() > 0 {
            let some = accesses.by_ref().take(self.recent.room());
            let fields = some.map(|(page, weight, write)| (page.0, weight, write));
            self.last = self.recent.extend(self.last, fields);
            self.absorb_full();
        }
    }

    /// Moves what came recently into the columns if there is much of it.
    #[inline]
    fn absorb_full(&mut self) {
        if self.recent.len() >= BATCH_ACCESSES.min(BLOCK_ACCESSES - self.totals.accesses) {
            self.absorb();
        }
    }

    /// Moves what came recently into the columns.
    fn absorb(&mut self) {
        let amount = self.recent.amount();
        self.totals.weight += amount.weight;
        self.totals.lowest = self.totals.lowest.min(amount.lowest);
        self.totals.highest = self.totals.highest.max(amount.highest);
        self.uneven |= amount.uneven;
        let weights = self.recent.weights();
        if amount.uneven < 0x80 {
            self.weights.extend(weights.iter().map(|&weight| weight as u8));
        } else {
            let wide = weights.iter().map(|&weight| u64::from(weight));
            put_all(&mut self.weights, weights.len(), wide);
        }
        self.absorb_kinds();
        self.recent.put_changes(&mut self.pages);
        self.totals.accesses += self.recent.len();
        self.recent.clear();
    }

    fn absorb_kinds(&mut self) {
        let mut held = self.totals.accesses % 64;
        for (word, count) in self.recent.write_words() {
            self.bits |= word << held;
            if held + count >= 64 {
                self.totals.writes += u64::from(self.bits.count_ones());
                self.write_bits.extend_from_slice(&self.bits.to_le_bytes());
                self.bits = word.unbounded_shr(64 - held as u32);
            }
            held = (held + count) % 64;
        }
    }

    /// What follows are accesses by `thread`.
    #[inline]
    fn turn_to(&mut self, thread: u32) {
        if thread != self.thread || self.lasts.is_empty() {
            self.begin_run(thread);
        }
    }

    /// Begins a run of accesses by `thread`.
    fn begin_run(&mut self, thread: u32) {
        self.end_run();
        self.thread = thread;
        self.index = *self.threads.entry(thread).or_insert_with(|| {
            self.lasts.push((thread, 0));
            self.lasts.len() - 1
        });
        self.last = self.lasts[self.index].1;
    }

    fn end_run(&mut self) {
        let length = self.len() - self.begin;
        self.begin = self.len();
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns of accesses that come one by one, with their differences taken literally.
    fn singly(accesses: &[Access]) -> Vec<u8> {
        let mut columns = vec![WRITE_BITS | WEIGHTS];
        columns.extend([1, 0, 1, 0]);
        put(&mut columns, accesses.len() as u64);
        for bits in accesses.chunks(8) {
            let bit = |at: usize| u8::from(bits[at].write) << at;
            columns.push((0..bits.len()).map(bit).fold(0, |byte, bit| byte | bit));
        }
        accesses.iter().for_each(|access| put(&mut columns, u64::from(access.weight)));
        let mut last = 0;
        for access in accesses {
            put(&mut columns, crate::file::varint::zigzag(access.page.0.wrapping_sub(last)));
            last = access.page.0;
        }
        columns
    }

    /// Differences of every length, weights of one byte for a long time and then of several.
    fn accesses() -> impl Iterator<Item = Access> {
        (0..5_000_u64).map(|i| Access {
            page: PageId(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (i * 7 % 64)),
            write: i % 3 == 0 || i % 7 == 1,
            thread: 0,
            weight: if i < 3_000 { i % 100 + 1 } else { i * i % 70_000 } as u32,
        })
    }

    #[test]
    fn however_accesses_come_the_columns_are_those_of_each() {
        let all: Vec<_> = accesses().collect();
        let expected = singly(&all);
        // Pieces that end where words of write bits do, batches do, and neither.
        for piece in [1, 63, 64, 1_000, BATCH_ACCESSES, BATCH_ACCESSES + 1, all.len()] {
            let mut builder = BlockBuilder::default();
            for (index, some) in all.chunks(piece).enumerate() {
                if index % 3 == 1 {
                    some.iter().for_each(|&access| builder.push(access));
                } else {
                    let fields = some.iter().map(|it| (it.page, it.weight, it.write));
                    builder.extend(0, fields);
                }
            }
            let mut block = EncodedBlock::default();
            builder.take(&mut block);
            assert_eq!(block.columns, expected, "pieces of {piece}");
            let sum: u64 = all.iter().map(|access| u64::from(access.weight)).sum();
            let pages = all.iter().map(|access| access.page.0);
            let writes = all.iter().filter(|access| access.write).count() as u64;
            let Totals { accesses, lowest, highest, weight, writes: written, .. } = block.totals;
            let extent = (pages.clone().min(), pages.max());
            assert_eq!((accesses, weight, written), (all.len(), sum, writes));
            assert_eq!((Some(lowest), Some(highest)), extent);
        }
    }
}
