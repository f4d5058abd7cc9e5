//! Accesses that enter a block's columns together, field by field: each column takes a loop of its own,
//! which does the same to all of them, so that many are worked on at once.

use multiversion::multiversion;

use crate::file::varint::{Short, long, zigzag};

/// Accesses in a full batch; they fit into a processor's first cache.
pub const BATCH_ACCESSES: usize = 1 << 10;

/// Most bytes that a difference takes.
const CHANGE_BYTES: usize = 10;

/// Accesses that are not in the columns yet.
#[derive(Debug)]
pub struct Batch {
    length: usize,
    pages: [u64; BATCH_ACCESSES],
    /// What the page differs by from the one that the same thread accessed before.
    changes: [u64; BATCH_ACCESSES],
    weights: [u32; BATCH_ACCESSES],
    writes: [bool; BATCH_ACCESSES],
    /// What a difference is in the column, as its bytes and how many of them count.
    encoded: [u64; BATCH_ACCESSES],
    lengths: [u8; BATCH_ACCESSES],
}

/// What accesses amount to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Amount {
    pub weight: u64,
    /// Bits in which any weight differs from 1.
    pub uneven: u32,
    pub lowest: u64,
    pub highest: u64,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            length: 0,
            pages: [0; BATCH_ACCESSES],
            changes: [0; BATCH_ACCESSES],
            weights: [0; BATCH_ACCESSES],
            writes: [false; BATCH_ACCESSES],
            encoded: [0; BATCH_ACCESSES],
            lengths: [0; BATCH_ACCESSES],
        }
    }
}

impl Batch {
    /// Number of accesses.
    #[inline]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Number of accesses that still find room.
    pub fn room(&self) -> usize {
        BATCH_ACCESSES - self.length
    }

    /// Forgets all accesses.
    pub fn clear(&mut self) {
        self.length = 0;
    }

    /// Appends an access by a thread that accessed page `last` before. There must be
    /// [room](Self::room).
    #[inline]
    pub fn push(&mut self, last: u64, page: u64, weight: u32, write: bool) {
        let at = self.length;
        self.pages[at] = page;
        self.changes[at] = page.wrapping_sub(last);
        self.weights[at] = weight;
        self.writes[at] = write;
        self.length += 1;
    }

    /// Appends accesses - page, weight, whether it writes - by a thread that accessed page `last`
    /// before. There must be [room](Self::room). The last page.
    pub fn extend(
        &mut self,
        last: u64,
        accesses: impl ExactSizeIterator<Item = (u64, u32, bool)>,
    ) -> u64 {
        let range = self.length..self.length + accesses.len();
        self.length = range.end;
        let places = Places {
            pages: &mut self.pages[range.clone()],
            changes: &mut self.changes[range.clone()],
            weights: &mut self.weights[range.clone()],
            writes: &mut self.writes[range],
        };
        fill(places, last, accesses)
    }

    /// What the accesses amount to.
    pub fn amount(&self) -> Amount {
        amount(&self.pages[..self.length], &self.weights[..self.length])
    }

    /// The weights.
    pub fn weights(&self) -> &[u32] {
        &self.weights[..self.length]
    }

    /// Whether each access writes: bits, of which 64 are in a word but for the last one. And how many
    /// are in it.
    pub fn write_words(&self) -> impl Iterator<Item = (u64, usize)> {
        self.writes[..self.length].chunks(64).map(|writes| (bits_of(writes), writes.len()))
    }

    /// Appends the differences of pages, in as few bytes as they need.
    pub fn put_changes(&mut self, column: &mut Vec<u8>) {
        let length = self.length;
        let changes = &self.changes[..length];
        let (encoded, lengths) = (&mut self.encoded[..length], &mut self.lengths[..length]);
        let all_short = encode(changes, encoded, lengths);
        let mut end = column.len();
        column.resize(end + length * CHANGE_BYTES, 0);
        for ((&change, &groups), &bytes) in changes.iter().zip(&*encoded).zip(&*lengths) {
            let change = zigzag(change);
            if all_short || Short::is(change) {
                // A whole word is written, of which a part counts.
                column[end..end + 8].copy_from_slice(&groups.to_le_bytes());
                end += usize::from(bytes);
            } else {
                end += long(change, &mut column[end..]);
            }
        }
        column.truncate(end);
    }
}

/// Where accesses go: as many places in each.
struct Places<'a> {
    pages: &'a mut [u64],
    changes: &'a mut [u64],
    weights: &'a mut [u32],
    writes: &'a mut [bool],
}

/// Fills places with as many accesses by a thread that accessed page `last` before; the last page.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx512cd+bmi1+bmi2+lzcnt+popcnt",
    "x86_64+avx2+bmi1+bmi2+lzcnt+popcnt",
))]
fn fill<A: ExactSizeIterator<Item = (u64, u32, bool)>>(
    places: Places<'_>,
    last: u64,
    accesses: A,
) -> u64 {
    let Places { pages, changes, weights, writes } = places;
    let fields = pages.iter_mut().zip(weights).zip(writes);
    for (((page, weight), write), access) in fields.zip(accesses) {
        (*page, *weight, *write) = access;
    }
    if let ([first, rest @ ..], [page, ..]) = (changes, &*pages) {
        *first = page.wrapping_sub(last);
        let pairs = pages.iter().zip(&pages[1..]);
        rest.iter_mut().zip(pairs).for_each(|(change, (a, b))| *change = b.wrapping_sub(*a));
    }
    pages.last().copied().unwrap_or(last)
}

/// What accesses of these pages and weights amount to.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx512cd+bmi1+bmi2+lzcnt+popcnt",
    "x86_64+avx2+bmi1+bmi2+lzcnt+popcnt",
))]
fn amount(pages: &[u64], weights: &[u32]) -> Amount {
    let mut amount = Amount { weight: 0, uneven: 0, lowest: u64::MAX, highest: 0 };
    for &weight in weights {
        amount.weight += u64::from(weight);
        amount.uneven |= weight ^ 1;
    }
    for &page in pages {
        amount.lowest = amount.lowest.min(page);
        amount.highest = amount.highest.max(page);
    }
    amount
}

/// Encodes differences, each in a word and the number of bytes of it that count. Whether this is right
/// for all of them: there may be such as do not fit.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx512cd+bmi1+bmi2+lzcnt+popcnt",
    "x86_64+avx2+bmi1+bmi2+lzcnt+popcnt",
))]
fn encode(changes: &[u64], encoded: &mut [u64], lengths: &mut [u8]) -> bool {
    let mut any = 0;
    for ((&change, encoded), length) in changes.iter().zip(encoded).zip(lengths) {
        let change = zigzag(change);
        any |= change;
        let short = Short::of(change);
        (*encoded, *length) = (short.bytes, short.length);
    }
    Short::is(any)
}

/// Up to 64 answers, as bits from the lowest on.
fn bits_of(answers: &[bool]) -> u64 {
    let (eights, rest) = answers.as_chunks::<8>();
    let rest = rest.iter().rev().fold(0, |bits, &answer| bits << 1 | u64::from(answer));
    eights.iter().rev().map(|eight| eight.map(u8::from)).fold(rest, |bits, eight| {
        // The product has the lowest bit of each byte in the highest one, side by side.
        let product = u64::from_le_bytes(eight).wrapping_mul(0x0102_0408_1020_4080);
        bits << 8 | product >> 56
    })
}
