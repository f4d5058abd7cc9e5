//! Fetching pages from memory nodes without a program, to see how long that takes.

use std::time::Instant;

use farside_far::remote::Cluster;
use farside_far::{FarError, FarStore, Remote};
use farside_os::memory::PAGE;
use farside_wire::transport::Protection;

/// Pages in one request.
pub const BATCH: usize = 64;

/// A client of some nodes, and pages it has stored there.
pub struct Fetcher {
    store: Remote,
    pages: u64,
}

impl Fetcher {
    /// Stores so many pages on the nodes.
    ///
    /// # Errors
    /// If a node cannot be reached, or has no room.
    pub fn new(cluster: &Cluster, protection: Protection, pages: u32) -> Result<Self, FarError> {
        let network = cluster.carrier.network(protection);
        let store = Remote::alone(cluster, network, pages.into())?;
        let fetcher = Self { store, pages: pages.into() };
        fetcher.fill()?;
        Ok(fetcher)
    }

    fn fill(&self) -> Result<(), FarError> {
        let mut content = vec![0; BATCH * PAGE];
        for first in (0..self.pages).step_by(BATCH) {
            for (page, bytes) in (first..).zip(content.chunks_exact_mut(PAGE)) {
                bytes[..8].copy_from_slice(&page.to_le_bytes());
                bytes[8..].fill(page as u8 | 1);
            }
            let count = BATCH.min((self.pages - first) as usize);
            self.store.write(first, &content[..count * PAGE])?;
        }
        Ok(())
    }

    /// Fetches `count` pages from `first` on, and sees to it that they are those.
    fn fetch(&self, first: u64, count: usize, into: &mut [u8]) -> Result<(), FarError> {
        let ticket = self.store.begin_read(first, count as u32)?;
        self.store.finish_read(ticket, &mut into[..count * PAGE])?;
        for (page, bytes) in (first..).zip(into[..count * PAGE].chunks_exact(PAGE)) {
            if bytes[..8] != page.to_le_bytes() {
                return Err(FarError::Damaged(page));
            }
        }
        Ok(())
    }

    /// How long each of `count` fetches of a page somewhere takes, in nanoseconds.
    ///
    /// # Errors
    /// If a page cannot be had.
    pub fn single(&self, count: u32) -> Result<Vec<f64>, FarError> {
        let mut page = vec![0; PAGE];
        let mut took = Vec::with_capacity(count as usize);
        let mut number = 1u64;
        for _ in 0..count {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let begin = Instant::now();
            self.fetch((number >> 33) % self.pages, 1, &mut page)?;
            took.push(begin.elapsed().as_nanos() as f64);
        }
        Ok(took)
    }

    /// Nanoseconds that a page takes if all are fetched in batches.
    ///
    /// # Errors
    /// If a page cannot be had.
    pub fn batched(&self) -> Result<f64, FarError> {
        let mut pages = vec![0; BATCH * PAGE];
        let begin = Instant::now();
        for first in (0..self.pages).step_by(BATCH) {
            let count = BATCH.min((self.pages - first) as usize);
            self.fetch(first, count, &mut pages)?;
        }
        Ok(begin.elapsed().as_nanos() as f64 / self.pages as f64)
    }
}
