//! What a thread will use, and when again.

use std::ops::Range;

use farside_trace::PageRange;
use farside_trace::tape::StepKind;

use super::pages::Use;
use crate::next_use::NEVER;

/// Binary logarithm of the records in a chunk.
const CHUNK_SHIFT: u32 = 18;

/// Records in a chunk: what is given back at once.
pub(super) const CHUNK: usize = 1 << CHUNK_SHIFT;

/// Set in a page's number if this is the first use of any thread since the page came to be.
const FIRST: u32 = 1 << 31;

/// Set in a page's number if the use begins with a write.
const WRITE: u32 = 1 << 30;

/// A record: 8 bytes.
#[derive(Copy, Clone, Debug)]
pub(super) struct Record {
    page: u32,
    /// Number of the record that uses the page next; [`NEVER`] if none does, or if its content is gone
    /// before that.
    pub next: u32,
}

impl Record {
    /// Number of the page.
    #[inline]
    pub const fn page(self) -> u32 {
        self.page & !(FIRST | WRITE)
    }

    /// Whether the use begins with a write.
    #[inline]
    pub const fn write(self) -> bool {
        self.page & WRITE != 0
    }

    /// What it takes if the page is not resident.
    #[inline]
    pub const fn kind(self) -> StepKind {
        match (self.page & FIRST != 0, self.write()) {
            // Nothing was there before.
            (true, _) => StepKind::Touch,
            (false, false) => StepKind::Fetch,
            (false, true) => StepKind::FetchToWrite,
        }
    }
}

/// Pages whose content is gone.
#[derive(Copy, Clone, Debug)]
pub(super) struct Discard {
    /// Number of the record before which it happened.
    pub at: u32,
    pub range: PageRange,
}

/// All records of one thread with their next uses.
#[derive(Debug, Default)]
pub(super) struct Foresight {
    chunks: Vec<Vec<Record>>,
    len: u32,
    /// By number of the page: its last record, if its content is still there.
    last: Vec<u32>,
    discards: Vec<Discard>,
    /// Records that are followed by others, for use and use again.
    links: Vec<(u32, u32)>,
}

impl Foresight {
    /// Takes in the next uses, of `pages` different pages so far; false if there are too many records.
    pub fn push(&mut self, uses: &[Use], pages: usize) -> bool {
        if (NEVER - self.len) as usize <= uses.len() {
            return false;
        }
        if self.last.len() < pages {
            self.last.resize(pages, NEVER);
        }
        self.links.clear();
        for used in uses {
            let now = self.len;
            let last = std::mem::replace(&mut self.last[used.page as usize], now);
            if last != NEVER {
                self.links.push((last, now));
            }
            if (now as usize).is_multiple_of(CHUNK) {
                self.chunks.push(Vec::with_capacity(CHUNK));
            }
            let first = if used.first { FIRST } else { 0 };
            let write = if used.write { WRITE } else { 0 };
            if let Some(chunk) = self.chunks.last_mut() {
                chunk.push(Record { page: used.page | first | write, next: NEVER });
            }
            self.len += 1;
        }
        // A processor waits for many places in memory no longer than for one.
        for (last, now) in &self.links {
            self.chunks[(last >> CHUNK_SHIFT) as usize][*last as usize % CHUNK].next = *now;
        }
        true
    }

    /// The content of a page is gone; whether the thread had used it.
    pub fn forget(&mut self, page: u32) -> bool {
        let last = self.last.get_mut(page as usize);
        last.is_some_and(|last| std::mem::replace(last, NEVER) != NEVER)
    }

    /// Notes that the content of pages is gone, of which the thread had used some.
    pub fn discard(&mut self, range: PageRange) {
        self.discards.push(Discard { at: self.len, range });
    }

    /// Number of records.
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Forgets what only takes more records.
    pub fn close(&mut self) {
        self.last = Vec::new();
    }

    /// Number of chunks.
    pub const fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// The records of these numbers, which lie in one chunk.
    pub fn records(&self, numbers: Range<usize>) -> &[Record] {
        let chunk = &self.chunks[numbers.start >> CHUNK_SHIFT];
        &chunk[numbers.start % CHUNK..][..numbers.len()]
    }

    /// The record of this number.
    #[inline]
    pub fn record(&self, number: usize) -> Record {
        self.chunks[number >> CHUNK_SHIFT][number % CHUNK]
    }

    /// What was discarded, in order.
    pub fn discards(&self) -> &[Discard] {
        &self.discards
    }

    /// Gives the memory of a chunk back.
    pub fn release(&mut self, number: usize) {
        self.chunks[number] = Vec::new();
    }
}
