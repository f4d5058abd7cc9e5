//! What a node has done since it started.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts, each of which only grows.
#[derive(Debug, Default)]
pub struct Counters {
    /// Pages sent.
    pub pages_read: AtomicU64,
    /// Pages taken.
    pub pages_written: AtomicU64,
    /// Requests, of any kind.
    pub requests: AtomicU64,
    /// Pages asked for that are not here, or in another version.
    pub pages_missed: AtomicU64,
    /// Pages that there was no room for.
    pub pages_refused: AtomicU64,
    /// Pages that were damaged on their way here.
    pub pages_damaged: AtomicU64,
    /// Connections ended because of what came over them.
    pub bad_messages: AtomicU64,
    /// Connections that were one too many.
    pub refused_connections: AtomicU64,
    /// Clients whose pages were forgotten because they were gone for too long.
    pub leases_ended: AtomicU64,
    /// Parts of pages sent.
    pub parts_read: AtomicU64,
    /// Parts of pages taken.
    pub parts_written: AtomicU64,
}

impl Counters {
    /// Adds to a count.
    pub fn add(counter: &AtomicU64, count: u64) {
        counter.fetch_add(count, Ordering::Relaxed);
    }
}
