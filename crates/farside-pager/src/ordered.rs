//! A local limit that is ordered while the program runs (`farside limit`, `farside balance`).
//!
//! The supervisor writes it into memory that it shares with the process, where a thread waits for it and brings the limit
//! there: at once if it grows, and else by steps, so that who faults meanwhile has to evict no more than one of them.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use farside_far::FarError;
use farside_os::memory::PAGE;
use farside_os::thread::{futex_wait_shared, futex_wake_shared};

use crate::pager::{Pager, Worker};
use crate::settings::LEAST_LIMIT;

/// Pages by which a limit shrinks at a time.
const STEP: u64 = 256;

/// How long is waited when nothing can be evicted, at first and at most.
const RETRY_NS: (u64, u64) = (1_000_000, 64_000_000);

/// The order, in memory shared with the supervisor.
#[repr(C)]
#[derive(Debug)]
pub struct OrderedLimit {
    /// 0 if there is none.
    bytes: AtomicU64,
    /// Changes with each order.
    signal: AtomicU32,
    spare: AtomicU32,
}

impl OrderedLimit {
    /// No order.
    pub const fn new() -> Self {
        Self { bytes: AtomicU64::new(0), signal: AtomicU32::new(0), spare: AtomicU32::new(0) }
    }

    /// Orders a limit. The process raises it to the [least](Pager::least_limit) that it can run with.
    pub fn order(&self, bytes: u64) {
        self.bytes.store(bytes.max(1), Ordering::Relaxed);
        self.signal.fetch_add(1, Ordering::Release);
        futex_wake_shared(&self.signal, 1);
    }

    /// The order, if there is one.
    pub fn bytes(&self) -> Option<u64> {
        Some(self.bytes.load(Ordering::Relaxed)).filter(|bytes| *bytes > 0)
    }

    /// Has the process look at an order again that may have come while it changed its limit by itself.
    pub(crate) fn remind(&self) {
        if self.bytes().is_some() {
            self.signal.fetch_add(1, Ordering::Release);
            futex_wake_shared(&self.signal, 1);
        }
    }

    /// To be read before the order is, and passed to [`wait`](Self::wait).
    pub fn signal(&self) -> u32 {
        self.signal.load(Ordering::Acquire)
    }

    /// Waits for an order since `seen` was read, for so many nanoseconds if that is said.
    pub fn wait(&self, seen: u32, timeout_ns: Option<u64>) {
        futex_wait_shared(&self.signal, seen, timeout_ns);
    }
}

impl Default for OrderedLimit {
    fn default() -> Self {
        Self::new()
    }
}

/// How far an order has been carried out.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Obeyed {
    /// There is none, or the limit is what was ordered and no more is here.
    Fully,
    /// A step has been made.
    Partly,
    /// Nothing can be evicted just now.
    Stuck,
}

impl Obeyed {
    /// How long to wait for another order, or before the next try, after `patience_ns` the last time; `None` for as long
    /// as there is none.
    pub fn wait_ns(self, patience_ns: &mut u64) -> Option<u64> {
        if self != Self::Stuck {
            *patience_ns = RETRY_NS.0;
            return None;
        }
        let now = *patience_ns;
        *patience_ns = (now * 2).clamp(RETRY_NS.0, RETRY_NS.1);
        Some(now)
    }
}

impl Pager {
    /// The least limit, in bytes, that the process can run with now: what is pinned, and what sections have, cannot be
    /// taken.
    pub fn least_limit(&self) -> u64 {
        least_limit(
            self.counters.held_pages.load(Ordering::Relaxed) * PAGE as u64,
            self.budget.lent() * PAGE as u64,
        )
    }

    /// Takes a step towards the limit that is ordered.
    ///
    /// # Errors
    /// If the far store fails.
    pub fn obey(&self, w: &mut Worker) -> Result<Obeyed, FarError> {
        self.obey_by(w, STEP, self.least_limit() / PAGE as u64)
    }

    /// As [`obey`](Self::obey), but the limit shrinks by so many pages, and is so many at least.
    ///
    /// # Errors
    /// As there.
    pub fn obey_by(&self, w: &mut Worker, step: u64, least: u64) -> Result<Obeyed, FarError> {
        let Some(ordered) = self.counters.ordered.bytes() else { return Ok(Obeyed::Fully) };
        let target = (ordered / PAGE as u64).max(least);
        let _inside = self.enter();
        let used = self.budget.whole_used();
        let next = match used.saturating_sub(step) {
            // Nobody may take more meanwhile than there was.
            below if below > target => below.min(self.budget.whole()),
            _ => target,
        };
        self.set_limit_bytes(next * PAGE as u64);
        self.shrink_to_limit(w)?;
        Ok(match self.budget.whole_used() {
            left if left <= target && next == target => Obeyed::Fully,
            left if left < used || next == target && left <= next => Obeyed::Partly,
            _ => Obeyed::Stuck,
        })
    }
}

/// The least limit, in bytes, of a process that has pinned so much, and whose sections have so much.
pub fn least_limit(held_bytes: u64, section_bytes: u64) -> u64 {
    LEAST_LIMIT.saturating_add(held_bytes).saturating_add(section_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_there_until_the_next() {
        let ordered = OrderedLimit::new();
        assert_eq!((ordered.bytes(), ordered.signal()), (None, 0));
        ordered.order(5 << 20);
        ordered.order(7 << 20);
        assert_eq!((ordered.bytes(), ordered.signal()), (Some(7 << 20), 2));
        // It has changed since: this returns at once.
        ordered.wait(1, None);
    }

    #[test]
    fn what_is_stuck_is_tried_again_less_and_less_often() {
        let mut patience = RETRY_NS.0;
        let waits: Vec<_> = (0..9).map(|_| Obeyed::Stuck.wait_ns(&mut patience)).collect();
        assert!(waits.is_sorted(), "{waits:?}");
        assert_eq!((waits[0], waits[8]), (Some(RETRY_NS.0), Some(RETRY_NS.1)));
        assert_eq!(Obeyed::Fully.wait_ns(&mut patience), None);
        assert_eq!(patience, RETRY_NS.0);
    }
}
