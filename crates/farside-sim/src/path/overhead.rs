//! What knowing the accesses costs (section 6.5), in cycles of the processor.

use farside_policy::replacement::Clock;
use farside_trace::PageId;

use super::Counts;
use crate::replay::Replay;

/// Cycles of the work that software does.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Overheads {
    /// Entering and leaving the handler of a full log.
    pub overflow: f64,
    /// Bringing the LRU stack and the miss-rate curve up to date with an entry of the log.
    pub entry: f64,
    /// Bringing the page proximity graph up to date with a page fault, and walking it.
    pub proximity: f64,
    /// An access to a protected page, with the software approach: the exception, the walks of the page
    /// table that protect one page and unprotect another, and the flushes of the translation buffer.
    pub protection: f64,
}

impl Default for Overheads {
    /// The paper measures these on a processor of 2006 and gives the sums only. An exception is taken
    /// to cost a thousand cycles, an entry two hundred - two or three misses of the caches -, a walk of
    /// the graph some thousands, and a protection fault three thousand: two walks of the page table and
    /// two flushes besides the exception.
    fn default() -> Self {
        Self { overflow: 1_000.0, entry: 200.0, proximity: 5_000.0, protection: 3_000.0 }
    }
}

impl Overheads {
    /// Cycles in the handlers of PATH's hardware. What is left in the log at the end was not handled
    /// yet, but counts: its work is only put off.
    pub fn hardware(&self, counts: &Counts) -> f64 {
        self.overflow * counts.overflows as f64 + self.entry * counts.recorded as f64
    }

    /// Cycles of page proximity prefetching besides, for so many page faults.
    pub fn prefetching(&self, faults: u64) -> f64 {
        self.proximity * faults as f64
    }

    /// Cycles of the software approach with so many protection faults. As in the paper this is the
    /// cost of keeping the active set alone.
    pub fn software(&self, protection_faults: u64) -> f64 {
        self.protection * protection_faults as f64
    }
}

/// The active set of the software approach: pages that are not protected. An access to any other page
/// faults and lets it in, in place of one that CLOCK chooses.
#[derive(Debug)]
pub struct ActiveSet {
    pages: Replay<Clock>,
    faults: u64,
}

impl ActiveSet {
    /// An empty set of at most `pages` pages, at least one.
    pub fn new(pages: usize) -> Self {
        Self { pages: Replay::new(Clock::new(true), pages), faults: 0 }
    }

    /// The program accesses a page; whether it was protected.
    pub fn access(&mut self, page: PageId) -> bool {
        let faulted = self.pages.reference(page);
        self.faults += u64::from(faulted);
        faulted
    }

    /// Accesses to protected pages.
    pub fn faults(&self) -> u64 {
        self.faults
    }
}
