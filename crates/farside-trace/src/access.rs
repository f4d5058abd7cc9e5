//! What a trace consists of: accesses, and the mappings they fall into.

use crate::{PageId, PageRange};

/// One record of a trace: data accesses of one thread to one page.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// The page.
    pub page: PageId,
    /// Whether one of the data accesses was a write.
    pub write: bool,
    /// The thread, as the tool that made the trace numbers them.
    pub thread: u32,
    /// Number of data accesses merged into this record.
    pub weight: u32,
}

impl From<PageId> for Access {
    /// One read of `page` by thread 0: what a list of pages says.
    fn from(page: PageId) -> Self {
        Self { page, write: false, thread: 0, weight: 1 }
    }
}

/// A named range of pages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mapping {
    /// Lowest page.
    pub first: PageId,
    /// Number of pages.
    pub count: u64,
    /// What lies there: the path of a file, `[heap]`, `[stack]`, or what else is known.
    pub name: String,
}

impl Mapping {
    /// The pages of the mapping.
    pub const fn range(&self) -> PageRange {
        PageRange::new(self.first, self.count)
    }
}

/// A change of what is mapped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MappingChange {
    /// A mapping appeared; it replaces what was in its range.
    Appeared(Mapping),
    /// Whatever was mapped in the range is gone.
    Vanished(PageRange),
}

/// A change of what is mapped, and when.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MappingEvent {
    /// Number of the access before which it happened, counted from 0.
    pub access: u64,
    /// What changed.
    pub change: MappingChange,
}

/// Consecutive accesses of a trace and the mapping events among them.
///
/// To be used again for every block, so that its vectors are allocated only once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Number of the first access, counted from 0.
    pub first: u64,
    /// The accesses in order.
    pub accesses: Vec<Access>,
    /// The events in order; one that happened after the last access bears the number of the access
    /// after that.
    pub events: Vec<MappingEvent>,
}

impl Block {
    /// Empties the block; its vectors keep their memory.
    pub(crate) fn clear(&mut self, first: u64) {
        self.first = first;
        self.accesses.clear();
        self.events.clear();
    }

    /// Drops what lies before the access of this number.
    pub(crate) fn skip_to(&mut self, access: u64) {
        let gone = usize::try_from(access.saturating_sub(self.first)).unwrap_or(usize::MAX);
        self.accesses.drain(..gone.min(self.accesses.len()));
        self.events.retain(|event| event.access >= access);
        self.first = self.first.max(access);
    }
}
