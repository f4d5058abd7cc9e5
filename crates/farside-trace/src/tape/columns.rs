//! The steps of a block, column by column, before compression.
//!
//! Pages are stored as differences to the page of the step of the same kind before, beginning with
//! page 0 in every block: fetches and evictions each have an order of their own, in which it makes no
//! difference whether a page is fetched to be written. A difference that comes several times in a row is
//! stored once.

use super::{MAX_BLOCK_STEPS, MAX_PAGES, ORDERS, Step, StepKind};
use crate::PageId;
use crate::file::varint::{Cursor, put, unzigzag, zigzag};

/// The column of the pages of a kind.
const fn column(kind: StepKind) -> usize {
    match kind {
        StepKind::Touch => 0,
        StepKind::Fetch | StepKind::FetchToWrite => 1,
        StepKind::Evict => 2,
    }
}

/// Steps whose kinds share a byte.
const KINDS_IN_BYTE: usize = 4;

/// Gathers steps into the columns of a block.
#[derive(Debug, Default)]
pub(super) struct StepBuilder {
    steps: usize,
    /// Whole bytes of the column of kinds, and the bits of one that is not whole.
    kinds: Vec<u8>,
    bits: u8,
    pages: [PageColumn; ORDERS],
}

impl StepBuilder {
    /// Number of steps gathered.
    pub fn len(&self) -> usize {
        self.steps
    }

    /// Appends a step.
    #[inline]
    pub fn push(&mut self, step: Step) {
        let at = self.steps % KINDS_IN_BYTE;
        self.bits |= step.kind.number() << (2 * at);
        if at == KINDS_IN_BYTE - 1 {
            self.kinds.push(self.bits);
            self.bits = 0;
        }
        self.steps += 1;
        self.pages[column(step.kind)].push(step.page.0);
    }

    /// Moves what was gathered into `columns`; the builder begins anew.
    pub fn take(&mut self, columns: &mut Vec<u8>) {
        columns.clear();
        self.pages.iter_mut().for_each(PageColumn::end_run);
        for column in &self.pages[..ORDERS - 1] {
            put(columns, column.bytes.len() as u64);
        }
        columns.extend_from_slice(&self.kinds);
        if !self.steps.is_multiple_of(KINDS_IN_BYTE) {
            columns.push(self.bits);
        }
        for column in &self.pages {
            columns.extend_from_slice(&column.bytes);
        }
        (self.steps, self.bits) = (0, 0);
        self.kinds.clear();
        self.pages.iter_mut().for_each(PageColumn::clear);
    }
}

/// The pages of the steps of one kind.
#[derive(Debug, Default)]
struct PageColumn {
    bytes: Vec<u8>,
    last: u64,
    /// The latest difference, and how often it came in a row.
    difference: u64,
    times: u64,
}

impl PageColumn {
    #[inline]
    fn push(&mut self, page: u64) {
        let difference = page.wrapping_sub(self.last);
        self.last = page;
        if difference != self.difference {
            self.end_run();
            self.difference = difference;
        }
        self.times += 1;
    }

    #[inline]
    fn end_run(&mut self) {
        // Pages are below 2^62, so that a bit is left in front of a difference.
        let token = zigzag(self.difference) << 1;
        match self.times {
            0 => {}
            1 => put(&mut self.bytes, token),
            times => {
                put(&mut self.bytes, token | 1);
                put(&mut self.bytes, times - 2);
            }
        }
        self.times = 0;
    }

    fn clear(&mut self) {
        self.bytes.clear();
        (self.last, self.difference, self.times) = (0, 0, 0);
    }
}

/// Reads the columns in `raw` into `steps`, which there are `count` of.
///
/// # Errors
/// What is wrong with the bytes.
pub(super) fn decode(raw: &[u8], count: usize, steps: &mut Vec<Step>) -> Result<(), &'static str> {
    steps.clear();
    let (kinds, mut pages) = split(raw, count).ok_or("the columns of a block are cut short")?;
    if !count.is_multiple_of(KINDS_IN_BYTE)
        && kinds[count / KINDS_IN_BYTE] >> (count % KINDS_IN_BYTE * 2) != 0
    {
        return Err("a block has more kinds than steps");
    }
    steps.reserve(count);
    for i in 0..count {
        let bits = usize::from(kinds[i / KINDS_IN_BYTE] >> (i % KINDS_IN_BYTE * 2) & 3);
        let kind = StepKind::ALL[bits];
        let page = pages[column(kind)].next().ok_or("a page of a block makes no sense")?;
        steps.push(Step { kind, page: PageId(page) });
    }
    if pages.iter().all(PageCursor::is_at_end) {
        Ok(())
    } else {
        Err("a block has pages left over")
    }
}

/// The column of kinds, and cursors on those of pages.
fn split(raw: &[u8], count: usize) -> Option<(&[u8], [PageCursor<'_>; ORDERS])> {
    let mut cursor = Cursor::new(raw);
    let touches = cursor.at_most(raw.len() as u64)? as usize;
    let fetches = cursor.at_most(raw.len() as u64)? as usize;
    let kinds = cursor.bytes(count.div_ceil(KINDS_IN_BYTE))?;
    let columns = [cursor.bytes(touches)?, cursor.bytes(fetches)?, cursor.rest()];
    Some((kinds, columns.map(PageCursor::new)))
}

/// Reads the pages of the steps of one kind.
struct PageCursor<'a> {
    column: Cursor<'a>,
    page: u64,
    difference: u64,
    times: u64,
}

impl<'a> PageCursor<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { column: Cursor::new(bytes), page: 0, difference: 0, times: 0 }
    }

    /// The next page; `None` if there is none, or none that can be.
    #[inline(always)]
    fn next(&mut self) -> Option<u64> {
        if self.times == 0 {
            let token = self.column.number()?;
            self.difference = unzigzag(token >> 1);
            self.times = match token & 1 {
                0 => 1,
                _ => self.column.at_most(MAX_BLOCK_STEPS as u64)? + 2,
            };
        }
        self.times -= 1;
        self.page = self.page.wrapping_add(self.difference);
        (self.page < MAX_PAGES).then_some(self.page)
    }

    fn is_at_end(&self) -> bool {
        self.times == 0 && self.column.is_empty()
    }
}
