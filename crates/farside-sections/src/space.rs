//! A section's far memory: which offsets are whose, and under which pages they are stored.
//!
//! Offsets come in *extents*, each with numbers of pages of its own in the far store, and are handed out in *spans*. A
//! span holds small blocks of one size, which lie so that none is in two lines if it fits into one; or several spans are
//! one large block. What is known of blocks is kept here, not in them: freeing one fetches nothing.

use std::collections::BTreeMap;

use farside_os::memory::PAGE;

use crate::host::Host;
use crate::lines::MOST_LINES;

/// Bytes of an extent: a multiple of any line.
pub const EXTENT: u64 = 4 << 20;
const EXTENT_PAGES: u64 = EXTENT / PAGE as u64;

/// Least bytes of a span.
const LEAST_SPAN: u64 = 64 << 10;

/// Blocks are multiples of this, and start at one.
const GRAIN: u64 = 16;

/// So many offsets that lie side by side, and the pages that they are stored under.
struct Extent {
    first_page: u64,
    /// By bits, which of them are stored.
    stored: [u64; (EXTENT_PAGES / 64) as usize],
}

/// Spans that are handed out.
enum Use {
    /// So many as one block.
    Large(u64),
    /// Blocks of one size.
    Small(Blocks),
}

/// The blocks of a span.
struct Blocks {
    size: u64,
    /// By bits, which are taken.
    taken: Vec<u64>,
    count: u32,
    used: u32,
}

/// Far memory of one section.
pub struct Space {
    line: u64,
    span: u64,
    extents: Vec<Extent>,
    /// Spans that are free, by the first and how many they are.
    free: BTreeMap<u64, u64>,
    uses: BTreeMap<u64, Use>,
    /// By the size of their blocks, spans in which some are free.
    partial: BTreeMap<u64, Vec<u64>>,
    allocated: u64,
    /// The most that this ever was.
    peak: u64,
}

/// A range of offsets whose content nobody needs any more.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Freed {
    pub start: u64,
    /// 0 if the rest of its span is still in use.
    pub len: u64,
}

impl Space {
    pub fn new(shift: u32) -> Self {
        Self {
            line: 1 << shift,
            span: LEAST_SPAN.max(1 << shift),
            extents: Vec::new(),
            free: BTreeMap::new(),
            uses: BTreeMap::new(),
            partial: BTreeMap::new(),
            allocated: 0,
            peak: 0,
        }
    }

    /// Most bytes that were ever handed out at once, in whole spans.
    pub fn peak(&self) -> u64 {
        self.peak
    }

    /// Offsets there are.
    pub fn len(&self) -> u64 {
        self.extents.len() as u64 * EXTENT
    }

    /// The first byte in the far store of what is at `offset`.
    pub fn far(&self, offset: u64) -> u64 {
        self.extents[(offset / EXTENT) as usize].first_page * PAGE as u64 + offset % EXTENT
    }

    fn bit(offset: u64) -> (usize, usize, u64) {
        let page = offset % EXTENT / PAGE as u64;
        ((offset / EXTENT) as usize, (page / 64) as usize, 1 << (page % 64))
    }

    /// Whether the page of an offset is stored.
    pub fn is_stored(&self, offset: u64) -> bool {
        let (extent, word, bit) = Self::bit(offset);
        self.extents[extent].stored[word] & bit != 0
    }

    /// Says that pages of a range are stored, or are not.
    pub fn set_stored(&mut self, start: u64, len: u64, stored: bool) {
        for offset in (start / PAGE as u64 * PAGE as u64..start + len).step_by(PAGE) {
            let (extent, word, bit) = Self::bit(offset);
            let word = &mut self.extents[extent].stored[word];
            *word = if stored { *word | bit } else { *word & !bit };
        }
    }

    /// The size of the blocks that hold `size` bytes; `None` if it is a large block.
    fn small(&self, size: u64, align: u64) -> Option<u64> {
        let size = size.max(1).max(if align > GRAIN { align } else { 1 });
        if size > self.span / 4 || align > self.line {
            return None;
        }
        if align > GRAIN {
            return Some(size.next_power_of_two());
        }
        if size > self.line {
            return Some(size.next_multiple_of(self.line));
        }
        // Four sizes from one power of two to the next.
        let step = (size.next_power_of_two() / 8).max(GRAIN);
        Some(size.next_multiple_of(step).min(self.line))
    }

    /// Takes `size` bytes at a multiple of `align`; `None` if there is no room in the section, or in far memory.
    pub fn allocate(&mut self, host: &dyn Host, size: u64, align: u64) -> Option<u64> {
        if !align.is_power_of_two() || align > self.span || size > MOST_LINES * self.line {
            return None;
        }
        match self.small(size, align) {
            Some(size) => self.take_block(host, size),
            None => {
                let spans = size.div_ceil(self.span);
                let first = self.take_spans(host, spans)?;
                self.uses.insert(first, Use::Large(spans));
                Some(first * self.span)
            }
        }
    }

    fn take_block(&mut self, host: &dyn Host, size: u64) -> Option<u64> {
        let known = self.partial.get(&size).and_then(|spans| spans.last().copied());
        let span = match known {
            Some(span) => span,
            None => {
                let span = self.take_spans(host, 1)?;
                let count = if size > self.line {
                    self.span / size
                } else {
                    self.span / self.line * (self.line / size)
                } as u32;
                let taken = vec![0; count.div_ceil(64) as usize];
                self.uses.insert(span, Use::Small(Blocks { size, taken, count, used: 0 }));
                self.partial.entry(size).or_default().push(span);
                span
            }
        };
        let Some(Use::Small(blocks)) = self.uses.get_mut(&span) else { return None };
        let index = blocks.take()?;
        if blocks.used == blocks.count
            && let Some(spans) = self.partial.get_mut(&size)
        {
            spans.retain(|other| *other != span);
        }
        Some(span * self.span + self.place(size, index))
    }

    /// Where in a span a block lies.
    fn place(&self, size: u64, index: u64) -> u64 {
        if size > self.line {
            return index * size;
        }
        let each = self.line / size;
        index / each * self.line + index % each * size
    }

    /// Which block of a span starts at an offset in it.
    fn index(&self, size: u64, place: u64) -> Option<u64> {
        let index = if size > self.line {
            place / size
        } else {
            place / self.line * (self.line / size) + place % self.line / size
        };
        (self.place(size, index) == place).then_some(index)
    }

    fn take_spans(&mut self, host: &dyn Host, count: u64) -> Option<u64> {
        let first = loop {
            match self.free.iter().find(|(_, len)| **len >= count) {
                Some((first, _)) => break *first,
                None => self.grow(host)?,
            }
        };
        let len = self.free.remove(&first)?;
        if len > count {
            self.free.insert(first + count, len - count);
        }
        self.allocated += count * self.span;
        self.peak = self.peak.max(self.allocated);
        host.note_footprint((count * self.span / PAGE as u64) as i64);
        Some(first)
    }

    fn grow(&mut self, host: &dyn Host) -> Option<()> {
        if (self.len() + EXTENT) / self.line > MOST_LINES {
            return None;
        }
        let first_page = host.take_numbers(EXTENT_PAGES)?;
        let first = self.len() / self.span;
        self.extents.push(Extent { first_page, stored: [0; (EXTENT_PAGES / 64) as usize] });
        self.add_free(first, EXTENT / self.span);
        Some(())
    }

    fn add_free(&mut self, mut first: u64, mut count: u64) {
        if let Some(more) = self.free.remove(&(first + count)) {
            count += more;
        }
        if let Some((start, len)) = self.free.range(..first).next_back().map(|(s, l)| (*s, *l))
            && start + len == first
        {
            (first, count) = (start, len + count);
        }
        self.free.insert(first, count);
    }

    /// Where the block at `offset` is known: its span, and how many bytes it has.
    fn find(&self, offset: u64) -> Option<(u64, u64, Option<u64>)> {
        let (span, known) = self.uses.range(..=offset / self.span).next_back()?;
        let place = offset - span * self.span;
        match known {
            Use::Large(count) => (place == 0).then_some((*span, count * self.span, None)),
            Use::Small(blocks) => {
                let index = self.index(blocks.size, place)?;
                blocks.has(index).then_some((*span, blocks.size, Some(index)))
            }
        }
    }

    /// Bytes of the block that starts at an offset; `None` if none does.
    pub fn size(&self, offset: u64) -> Option<u64> {
        self.find(offset).map(|(_, size, _)| size)
    }

    /// Takes the block at `offset` back; `None` if there is none. Spans that have no block any more stay taken until they
    /// are [released](Self::release).
    pub fn free(&mut self, offset: u64) -> Option<Freed> {
        let (span, size, index) = self.find(offset)?;
        let Some(index) = index else {
            self.uses.remove(&span);
            return Some(Freed { start: offset, len: size });
        };
        let Some(Use::Small(blocks)) = self.uses.get_mut(&span) else { return None };
        let was_full = blocks.used == blocks.count;
        blocks.give(index);
        let is_empty = blocks.used == 0;
        let spans = self.partial.entry(size).or_default();
        if is_empty {
            spans.retain(|other| *other != span);
            self.uses.remove(&span);
            return Some(Freed { start: span * self.span, len: self.span });
        }
        if was_full {
            spans.push(span);
        }
        Some(Freed { start: offset, len: 0 })
    }

    /// Spans whose content is gone are free again.
    pub fn release(&mut self, host: &dyn Host, freed: Freed) {
        self.set_stored(freed.start, freed.len, false);
        self.add_free(freed.start / self.span, freed.len / self.span);
        self.allocated -= freed.len;
        host.note_footprint(-((freed.len / PAGE as u64) as i64));
    }

    /// Pages of a range in the far store, as runs of first and number.
    pub fn pages(&self, start: u64, len: u64) -> Vec<(u64, u64)> {
        let mut runs = Vec::new();
        let mut at = start;
        while at < start + len {
            let end = ((at / EXTENT + 1) * EXTENT).min(start + len);
            runs.push((self.far(at) / PAGE as u64, (end - at) / PAGE as u64));
            at = end;
        }
        runs
    }

    /// Gives all numbers back; nothing is stored under them any more.
    pub fn close(&mut self, host: &dyn Host) {
        for extent in self.extents.drain(..) {
            host.give_numbers(extent.first_page, EXTENT_PAGES);
        }
        host.note_footprint(-((self.allocated / PAGE as u64) as i64));
        self.allocated = 0;
    }
}

impl Blocks {
    fn take(&mut self) -> Option<u64> {
        let word = self.taken.iter().position(|word| *word != u64::MAX)?;
        let bit = self.taken[word].trailing_ones();
        let index = word as u64 * 64 + u64::from(bit);
        if index >= u64::from(self.count) {
            return None;
        }
        self.taken[word] |= 1 << bit;
        self.used += 1;
        Some(index)
    }

    fn has(&self, index: u64) -> bool {
        let word = self.taken.get(index as usize / 64);
        word.is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    fn give(&mut self, index: u64) {
        self.taken[index as usize / 64] &= !(1 << (index % 64));
        self.used -= 1;
    }
}
