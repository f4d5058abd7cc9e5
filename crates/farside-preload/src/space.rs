//! What is mapped where in the far region: the table behind the laws of `mmap`, `munmap`, `mprotect`,
//! `madvise` and `mremap`.

use std::collections::BTreeMap;
use std::ops::Range;

/// What a part of the far region is used for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Mapped by the program, with this protection.
    Mapped(i32),
    /// Taken out of management: a mapping of a file, shared or executable, that the program put there.
    Foreign,
    /// An extent of the allocator.
    Heap,
}

/// A stretch of addresses that has one use, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its addresses.
    pub range: Range<usize>,
    /// Its use; `None` where nothing is mapped.
    pub kind: Option<Kind>,
}

/// The table. Neighbours of the same kind are one entry, as in the kernel.
#[derive(Debug, Default)]
pub struct Space {
    areas: BTreeMap<usize, (usize, Kind)>,
}

impl Space {
    /// An empty table.
    pub const fn new() -> Self {
        Self { areas: BTreeMap::new() }
    }

    /// Sets the use of `range`, whatever it was before.
    pub fn insert(&mut self, range: Range<usize>, kind: Kind) {
        if range.is_empty() {
            return;
        }
        self.remove(range.clone());
        let mut merged = range.clone();
        if let Some((&start, &(end, before))) = self.areas.range(..range.start).next_back()
            && end == range.start
            && before == kind
        {
            merged.start = start;
        }
        if let Some(&(end, after)) = self.areas.get(&range.end)
            && after == kind
        {
            self.areas.remove(&range.end);
            merged.end = end;
        }
        self.areas.insert(merged.start, (merged.end, kind));
    }

    /// Leaves nothing in `range`.
    pub fn remove(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        self.split(range.start);
        self.split(range.end);
        while let Some((&start, _)) = self.areas.range(range.clone()).next() {
            self.areas.remove(&start);
        }
    }

    /// The uses of `range` in address order, without a gap.
    pub fn pieces(&self, range: Range<usize>) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let piece = match self.at(at) {
                Some((area, kind)) => {
                    Piece { range: at..area.end.min(range.end), kind: Some(kind) }
                }
                None => {
                    let next = self.areas.range(at..).next().map_or(range.end, |(start, _)| *start);
                    Piece { range: at..next.min(range.end), kind: None }
                }
            };
            at = piece.range.end;
            pieces.push(piece);
        }
        pieces
    }

    /// The entry that covers `addr`.
    pub fn at(&self, addr: usize) -> Option<(Range<usize>, Kind)> {
        let (&start, &(end, kind)) = self.areas.range(..=addr).next_back()?;
        (addr < end).then_some((start..end, kind))
    }

    /// Whether nothing is mapped in `range`.
    pub fn is_free(&self, range: Range<usize>) -> bool {
        self.at(range.start).is_none() && self.areas.range(range).next().is_none()
    }

    /// Makes `addr` a border between entries if it lies inside one.
    fn split(&mut self, addr: usize) {
        if let Some((area, kind)) = self.at(addr)
            && area.start < addr
        {
            self.areas.insert(area.start, (addr, kind));
            self.areas.insert(addr, (area.end, kind));
        }
    }
}
