//! What the paged region leaves to others: frames of the local limit, numbers of pages, the far store.

use farside_far::{FarError, FarStore};
use farside_os::memory::PAGE;
use farside_policy::batches::BATCH;
use thiserror::Error;

use crate::pager::{Pager, Worker};
use crate::settings::LEAST_LIMIT;

/// Why frames are not lent.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
#[error("{asked} pages of local memory are wanted, and no more than {left} can be had")]
pub struct NotLent {
    /// Frames asked for.
    pub asked: u64,
    /// Frames that could be lent.
    pub left: u64,
}

/// So many times in a row nothing could be evicted.
const PATIENCE: u32 = 1000;

impl Pager {
    /// Takes frames out of the paged region, which evicts as many: they count towards the local limit, as before, but are
    /// for something else until they are [taken back](Self::take_back).
    ///
    /// # Errors
    /// If the far store fails; and, in the result, if less than the least limit would be left, or what is here cannot be
    /// evicted. Then nothing is lent.
    pub fn lend(&self, w: &mut Worker, frames: u64) -> Result<Result<(), NotLent>, FarError> {
        self.lend_leaving(w, frames, LEAST_LIMIT / PAGE as u64)
    }

    /// As [`lend`](Self::lend), but so many frames are left at least.
    ///
    /// # Errors
    /// As there.
    pub fn lend_leaving(
        &self,
        w: &mut Worker,
        frames: u64,
        least: u64,
    ) -> Result<Result<(), NotLent>, FarError> {
        let _inside = self.enter();
        let left = self.budget.limit().saturating_sub(least);
        if frames > left {
            return Ok(Err(NotLent { asked: frames, left }));
        }
        let (mut lent, mut fruitless) = (0, 0);
        while lent < frames {
            let got = self.acquire(w, (frames - lent).min(BATCH as u64), 0)?;
            self.budget.lend(got);
            lent += got;
            fruitless = if got > 0 { 0 } else { fruitless + 1 };
            // Somebody else may have borrowed meanwhile.
            let enough = self.budget.limit() >= least;
            if fruitless > PATIENCE || !enough {
                self.budget.give_lent(lent);
                return Ok(Err(NotLent { asked: frames, left: left.min(lent) }));
            }
            if got == 0 {
                self.complete_oldest(w)?;
                self.space.rest(10_000);
            }
        }
        Ok(Ok(()))
    }

    /// Gives the paged region frames back that it lent.
    pub fn take_back(&self, frames: u64) {
        self.budget.give_lent(frames);
    }

    /// Numbers of pages that are the caller's in the far store from now on, though never pages of the far region.
    pub fn take_numbers(&self, count: u64) -> Option<u64> {
        // Low ones: at a fork, tables are copied as far as numbers are used.
        self.lock_ranges().take(count, 1)
    }

    /// Gives numbers of pages back, under which nothing is stored any more.
    pub fn give_numbers(&self, first: u64, count: u64) {
        self.lock_ranges().give(first, count);
    }

    /// Where far pages are kept.
    pub fn store(&self) -> &dyn FarStore {
        &*self.store
    }

    /// Counts so many pages as touched, or as freed, that are kept under [numbers of their own](Self::take_numbers).
    pub fn note_footprint(&self, change: i64) {
        self.add_touched(change);
    }
}
