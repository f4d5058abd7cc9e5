//! PATH's hardware (Azimi and others, ISMM 2007, section 2): which page accesses reach software.
//!
//! A page access that misses in the translation buffer is looked up in the *page access buffer*; one that
//! misses there goes through a small *filter* against conflict misses; what is left is written to the
//! *page access log*, which calls software when it is full.

mod behind;
mod buffer;
mod filter;
mod log;
mod overhead;

pub use behind::{AnySimulation, BehindPath};
pub use buffer::PageAccessBuffer;
pub use filter::AssociativeFilter;
pub use log::{Fnv1a, PageAccessLog};
pub use overhead::{ActiveSet, Overheads};

use farside_trace::PageId;

/// Sizes of the hardware.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Entries of the translation buffer in front, fully associative; 0 if the trace consists of its
    /// misses already.
    pub tlb: usize,
    /// Sets of the page access buffer.
    pub sets: usize,
    /// Entries in a set. The paper does not state it.
    pub ways: usize,
    /// Entries of the filter; 0 for none.
    pub filter: usize,
    /// Entries of the page access log.
    pub log: usize,
}

impl Default for Geometry {
    /// The paper's sizes: 2,048 entries, 4 a set, behind a filter of 64; a log of 128.
    fn default() -> Self {
        Self { tlb: 0, sets: 512, ways: 4, filter: 64, log: 128 }
    }
}

/// Why sizes cannot be built.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum BadGeometry {
    /// A buffer or a log without entries.
    Empty(&'static str),
    /// The buffer's entries are not a multiple of the entries in a set.
    Uneven {
        /// Entries asked for.
        entries: usize,
        /// Entries in a set.
        ways: usize,
    },
}

impl std::fmt::Display for BadGeometry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty(what) => write!(f, "the {what} needs at least one entry"),
            Self::Uneven { entries, ways } => {
                write!(f, "a buffer of {entries} entries cannot have sets of {ways}")
            }
        }
    }
}

impl std::error::Error for BadGeometry {}

impl Geometry {
    /// These sizes with a buffer of `entries` entries in sets of `ways`.
    ///
    /// # Errors
    /// If the entries do not fill whole sets, or there are none.
    pub fn with_buffer(self, entries: usize, ways: usize) -> Result<Self, BadGeometry> {
        if entries == 0 || ways == 0 {
            return Err(BadGeometry::Empty("page access buffer"));
        }
        if !entries.is_multiple_of(ways) {
            return Err(BadGeometry::Uneven { entries, ways });
        }
        Ok(Self { sets: entries / ways, ways, ..self })
    }

    /// These sizes with a log of `entries` entries.
    ///
    /// # Errors
    /// If there are none.
    pub fn with_log(self, entries: usize) -> Result<Self, BadGeometry> {
        if entries == 0 {
            return Err(BadGeometry::Empty("page access log"));
        }
        Ok(Self { log: entries, ..self })
    }
}

/// A page of one address space.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct SpacePage {
    /// The address space's identifier.
    pub space: u16,
    /// The page.
    pub page: PageId,
}

/// What the hardware counted.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// References, those that hit the translation buffer included.
    pub references: u64,
    /// Misses of the translation buffer; all references if there is none.
    pub tlb_misses: u64,
    /// Misses of the page access buffer.
    pub buffer_misses: u64,
    /// Entries written to the log.
    pub recorded: u64,
    /// Times that the log was full.
    pub overflows: u64,
}

/// The hardware as a whole.
#[derive(Clone, Debug)]
pub struct Path {
    tlb: Option<AssociativeFilter>,
    buffer: PageAccessBuffer,
    filter: Option<AssociativeFilter>,
    log: PageAccessLog,
    counts: Counts,
}

impl Path {
    /// Empty buffers of the given sizes.
    pub fn new(geometry: Geometry) -> Self {
        let filter = |entries| (entries > 0).then(|| AssociativeFilter::new(entries));
        Self {
            tlb: filter(geometry.tlb),
            buffer: PageAccessBuffer::new(geometry.sets, geometry.ways),
            filter: filter(geometry.filter),
            log: PageAccessLog::new(geometry.log),
            counts: Counts::default(),
        }
    }

    /// The program accesses a page; `full` is called with the entries of the log when there is no room
    /// for more. Returns whether the access was recorded.
    pub fn access(&mut self, page: SpacePage, full: impl FnOnce(&[SpacePage])) -> bool {
        self.counts.references += 1;
        if self.tlb.as_mut().is_some_and(|tlb| tlb.access(page)) {
            return false;
        }
        self.counts.tlb_misses += 1;
        if self.buffer.access(page) {
            return false;
        }
        self.counts.buffer_misses += 1;
        if self.filter.as_mut().is_some_and(|filter| filter.access(page)) {
            return false;
        }
        self.counts.recorded += 1;
        if self.log.push(page) {
            self.counts.overflows += 1;
            full(self.log.entries());
            self.log.clear();
        }
        true
    }

    /// What is in the log since it was full last.
    pub fn pending(&self) -> &[SpacePage] {
        self.log.entries()
    }

    /// What was counted so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }
}
