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
