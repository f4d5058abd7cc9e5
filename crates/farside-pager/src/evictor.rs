//! Evicting before room is needed, on a thread of its own: who faults then finds a free frame, and does not wait until
//! others are written back (Eden, section 3).
//!
//! Taking a page from a program that runs elsewhere means to interrupt its processor, for each page that it may have
//! written; who faults is not interrupted by evicting for itself. So it has to be asked for: on two processors it was
//! never faster, and on more it has not been measured.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use farside_far::FarError;
use farside_os::thread::{futex_wait, futex_wake};
use farside_policy::batches;

use crate::counters::Counters;
use crate::pager::{Pager, Worker};

/// What the evictor is told.
#[derive(Default)]
pub struct Evictor {
    /// Changes whenever there is something to do.
    signal: AtomicU32,
    /// Whether it knows that there is.
    asked: AtomicBool,
    /// Whether spare frames are short, or else frames of the budget.
    spare: AtomicBool,
    /// Whether anybody listens.
    works: bool,
}

impl Evictor {
    /// One that works, or is left alone.
    pub fn new(works: bool) -> Self {
        Self { works, ..Self::default() }
    }

    /// Whether it works.
    pub fn works(&self) -> bool {
        self.works
    }

    /// To be read before looking for work, and passed to [`wait`](Self::wait) if there is none.
    pub fn signal(&self) -> u32 {
        self.signal.load(Ordering::Acquire)
    }

    /// Waits until there is work since `seen` was read.
    pub fn wait(&self, seen: u32) {
        futex_wait(&self.signal, seen, None);
    }

    fn ask(&self, spare: bool) {
        if self.asked.load(Ordering::Relaxed) {
            return;
        }
        self.spare.store(spare, Ordering::Relaxed);
        if !self.asked.swap(true, Ordering::AcqRel) {
            self.signal.fetch_add(1, Ordering::Release);
            futex_wake(&self.signal, 1);
        }
    }
}

impl Pager {
    /// Frames of the budget were taken: more are made free if few are left.
    pub(crate) fn note_taken(&self) {
        if !self.evictor.works {
            return;
        }
        let limit = self.budget.limit();
        let free = limit.saturating_sub(self.budget.used());
        if free < batches::kept_free(limit) / 2 {
            self.evictor.ask(false);
        }
    }

    /// Spare frames were taken: more are made if few are left.
    pub(crate) fn note_spare_taken(&self) {
        if !self.evictor.works {
            return;
        }
        let limit = self.budget.limit();
        if self.area.spare_count() < batches::kept_free(limit) / 2 && self.budget_is_short(1) {
            self.evictor.ask(true);
        }
    }

    /// Evicts a batch if few frames are free; false if enough are, or no more can be had now.
    pub fn evict_ahead(&self, w: &mut Worker) -> Result<bool, FarError> {
        let inside = self.enter();
        let gained = self.evict_batch_ahead(w);
        drop(inside);
        if !matches!(gained, Ok(true)) {
            self.evictor.asked.store(false, Ordering::Release);
        }
        gained
    }

    fn evict_batch_ahead(&self, w: &mut Worker) -> Result<bool, FarError> {
        // A recording notes what a limit makes fault, and a tape has plans of its own.
        if self.is_recorded() || self.follows_tape() {
            return Ok(false);
        }
        let limit = self.budget.limit();
        let (free, kept) = (limit.saturating_sub(self.budget.used()), batches::kept_free(limit));
        let spare = self.area.spare_count();
        let gained = if self.evictor.spare.load(Ordering::Relaxed) {
            if free + spare < kept { self.reclaim(w, 1)? } else { 0 }
        } else if free >= kept {
            0
        } else if spare > 0 {
            return Ok(self.drop_spare(kept - free) > 0);
        } else {
            self.reclaim(w, 1)?
        };
        Counters::add(&self.counters.freed_ahead, gained);
        Ok(gained > 0)
    }
}
