//! The seam below: what a section needs of the process that it is in.

use std::sync::atomic::AtomicU32;

use farside_far::FarStore;
use farside_os::thread::{futex_wait, futex_wake, now_ns};
use farside_pager::NotLent;
use farside_pager::counters::Counters;
use farside_pager::service::Service;

/// What a section needs of the process that it is in.
pub trait Host: Send + Sync {
    /// Where far pages are kept. It is never called while a lock is held.
    fn store(&self) -> &dyn FarStore;

    /// Where to count.
    fn counters(&self) -> &Counters;

    /// Takes so many pages of local memory from those that the paged region may use. As [`store`](Self::store).
    ///
    /// # Errors
    /// If so many cannot be had.
    fn lend(&self, pages: u64) -> Result<(), NotLent>;

    /// Gives pages of local memory back.
    fn take_back(&self, pages: u64);

    /// Numbers of pages in the far store, for nobody else to use.
    fn take_numbers(&self, count: u64) -> Option<u64>;

    /// Gives numbers back.
    fn give_numbers(&self, first: u64, count: u64);

    /// Counts pages that the program has got, or freed if negative, as its memory.
    fn note_footprint(&self, pages: i64);

    /// What time it is, in nanoseconds since some moment.
    fn now_ns(&self) -> u64;

    /// Waits until `word` is not `seen` any more, but not for long.
    fn wait(&self, word: &AtomicU32, seen: u32);

    /// Wakes all who wait for `word` to change.
    fn wake(&self, word: &AtomicU32);
}

/// The same process, for what has to be had whatever the limit says: what is borrowed is not counted.
#[derive(Copy, Clone)]
pub struct Uncounted(pub PagerHost);

impl Host for Uncounted {
    fn store(&self) -> &dyn FarStore {
        self.0.store()
    }

    fn counters(&self) -> &Counters {
        self.0.counters()
    }

    fn lend(&self, _pages: u64) -> Result<(), NotLent> {
        Ok(())
    }

    fn take_back(&self, _pages: u64) {}

    fn take_numbers(&self, count: u64) -> Option<u64> {
        self.0.take_numbers(count)
    }

    fn give_numbers(&self, first: u64, count: u64) {
        self.0.give_numbers(first, count);
    }

    fn note_footprint(&self, pages: i64) {
        self.0.note_footprint(pages);
    }

    fn now_ns(&self) -> u64 {
        self.0.now_ns()
    }

    fn wait(&self, word: &AtomicU32, seen: u32) {
        self.0.wait(word, seen);
    }

    fn wake(&self, word: &AtomicU32) {
        self.0.wake(word);
    }
}

/// Longest wait, in nanoseconds, until a thread looks again.
const LOOK_AGAIN_NS: u64 = 1_000_000;

/// A process whose other memory is paged: the store and the local limit are the pager's.
#[derive(Copy, Clone)]
pub struct PagerHost(pub &'static Service);

impl Host for PagerHost {
    fn store(&self) -> &dyn FarStore {
        self.0.pager().store()
    }

    fn counters(&self) -> &Counters {
        self.0.pager().counters()
    }

    fn lend(&self, pages: u64) -> Result<(), NotLent> {
        self.0.lend(pages)
    }

    fn take_back(&self, pages: u64) {
        self.0.pager().take_back(pages);
    }

    fn take_numbers(&self, count: u64) -> Option<u64> {
        self.0.pager().take_numbers(count)
    }

    fn give_numbers(&self, first: u64, count: u64) {
        self.0.pager().give_numbers(first, count);
    }

    fn note_footprint(&self, pages: i64) {
        self.0.pager().note_footprint(pages);
    }

    fn now_ns(&self) -> u64 {
        now_ns()
    }

    fn wait(&self, word: &AtomicU32, seen: u32) {
        futex_wait(word, seen, Some(LOOK_AGAIN_NS));
    }

    fn wake(&self, word: &AtomicU32) {
        futex_wake(word, u32::MAX >> 1);
    }
}
