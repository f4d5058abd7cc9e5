//! Counters of what goes wrong between this side and whoever keeps the pages.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::Health;

/// What has been seen of nodes that do not do what they should.
#[derive(Debug, Default)]
pub struct Troubles {
    /// Reads that were sent to another node because the first did not answer in time.
    pub hedged: AtomicU64,
    /// Pages that came back other than they were stored.
    pub damaged: AtomicU64,
    /// Copies that nodes lost.
    pub lost_copies: AtomicU64,
    /// Copies made because there were too few.
    pub repaired: AtomicU64,
    /// Pages stored with fewer copies than there should be.
    pub degraded: AtomicU64,
}

impl Troubles {
    /// Counts.
    pub fn add(counter: &AtomicU64, count: u64) {
        counter.fetch_add(count, Ordering::Relaxed);
    }

    /// In a forked child, which has seen nothing yet.
    pub fn clear(&self) {
        let Self { hedged, damaged, lost_copies, repaired, degraded } = self;
        for counter in [hedged, damaged, lost_copies, repaired, degraded] {
            counter.store(0, Ordering::Relaxed);
        }
    }

    /// All of it, with how many pages lack copies, and for how long there have been such.
    pub fn health(&self, lacking_pages: u64, lacking_ns: u64) -> Health {
        let Self { hedged, damaged, lost_copies, repaired, degraded } = self;
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Health {
            hedged_reads: of(hedged),
            damaged_pages: of(damaged),
            lost_copies: of(lost_copies),
            repaired_copies: of(repaired),
            degraded_pages: of(degraded),
            lacking_pages,
            lacking_ms: lacking_ns / 1_000_000,
        }
    }
}
