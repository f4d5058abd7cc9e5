//! Fetching pages from far memory without a program, to see how long that takes.

use std::time::Instant;

use farside_far::{FarError, FarStore};
use farside_os::memory::PAGE;

/// Pages in one request.
pub const BATCH: usize = 64;

/// Pages that are stored next to each other by [`Fetcher::scattered`] are so far apart.
const STRIDE: u64 = 512;

/// A page by which it is seen which it is.
fn content(page: u64) -> [u8; PAGE] {
    let mut bytes = [page as u8 | 1; PAGE];
    bytes[..8].copy_from_slice(&page.to_le_bytes());
    bytes
}

/// Far memory, and pages stored there.
pub struct Fetcher {
    store: Box<dyn FarStore>,
    pages: u64,
}

impl Fetcher {
    /// Stores so many pages in a store that has room for their names.
    ///
    /// # Errors
    /// If there is no room.
    pub fn new(store: Box<dyn FarStore>, pages: u32) -> Result<Self, FarError> {
        let fetcher = Self { store, pages: pages.into() };
        fetcher.fill()?;
        Ok(fetcher)
    }

    /// As [`new`](Self::new), but stores the pages in another order, so that what lies side by side here does not there.
    ///
    /// # Errors
    /// If there is no room.
    pub fn scattered(store: Box<dyn FarStore>, pages: u32) -> Result<Self, FarError> {
        let fetcher = Self { store, pages: pages.into() };
        for offset in 0..STRIDE {
            for page in (offset..fetcher.pages).step_by(STRIDE as usize) {
                fetcher.store.write(page, &content(page))?;
            }
        }
        Ok(fetcher)
    }

    fn fill(&self) -> Result<(), FarError> {
        for first in (0..self.pages).step_by(BATCH) {
            let end = self.pages.min(first + BATCH as u64);
            let pages: Vec<u8> = (first..end).flat_map(content).collect();
            self.store.write(first, &pages)?;
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

    /// Nanoseconds that a page takes if all are fetched, and `most` are on their way at any time: a half of them is sent
    /// for while the other half arrives.
    ///
    /// # Errors
    /// If a page cannot be had.
    pub fn in_flight(&self, most: u32) -> Result<f64, FarError> {
        let half = most / 2;
        let mut pages = vec![0; half as usize * PAGE];
        let begin = Instant::now();
        let mut ahead = self.store.begin_read(0, half)?;
        let mut count = 0;
        for first in (u64::from(half)..=self.pages - u64::from(half)).step_by(half as usize) {
            let next = self.store.begin_read(first, half)?;
            self.store.finish_read(std::mem::replace(&mut ahead, next), &mut pages)?;
            count += half;
        }
        self.store.finish_read(ahead, &mut pages)?;
        Ok(begin.elapsed().as_nanos() as f64 / f64::from(count + half))
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
