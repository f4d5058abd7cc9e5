//! Orders to the embedded node to move pages by itself.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use farside_os::Result;
use farside_os::thread::{now_ns, sleep_ns};
use farside_wire::orders::{Answer, ORDERS, Order, Orderer};

/// Orders that may be without an answer that was looked at.
const MOST_OPEN: u64 = ORDERS / 2;

/// How long the node may take to say whether it can move pages.
const READY_WITHIN_NS: u64 = 2_000_000_000;

/// How long to wait between two looks at an order that takes long.
const LOOK_NS: u64 = 20_000;

/// How long to look without a pause before that.
const SPIN_NS: u64 = 1_000_000;

/// How long the node may take to begin with an order that somebody waits for. Some 50 us are usual; where others have all
/// processors it is milliseconds, in which the program can do a hundred such orders by itself.
const BEGIN_NS: u64 = 200_000;

/// How an order ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The node carried it out.
    Answered(Answer),
    /// The node did not come to it in time, and will not carry it out.
    Recalled(Order),
}

/// What the node comes to next, and since when that has been so, for somebody who waits.
#[derive(Copy, Clone, Debug)]
struct Watch {
    next: u64,
    since: u64,
}

/// The program's side of what moves its pages.
pub(crate) struct Moving {
    orderer: Orderer,
    putting: Mutex<()>,
    open: AtomicU64,
    /// The order that the node was found not to come to; as long as it has not, nobody waits for those behind.
    stalled_at: AtomicU64,
}

impl Moving {
    /// Memory for orders, of whose file `tell` tells the node; `None` if it cannot move pages.
    pub(crate) fn start(tell: impl FnOnce(BorrowedFd<'_>) -> Result<()>) -> Result<Option<Self>> {
        let (orderer, file) = Orderer::new()?;
        tell(file.as_fd())?;
        let end = now_ns() + READY_WITHIN_NS;
        while orderer.is_able().is_none() && now_ns() < end {
            sleep_ns(LOOK_NS);
        }
        let able = orderer.is_able() == Some(true);
        if !able {
            orderer.close();
        }
        Ok(able.then(|| Self {
            orderer,
            putting: Mutex::new(()),
            open: AtomicU64::new(0),
            stalled_at: AtomicU64::new(u64::MAX),
        }))
    }

    /// Puts an order; `None` if too many are open.
    pub(crate) fn put(&self, order: Order) -> Option<u64> {
        if self.open.load(Ordering::Acquire) >= MOST_OPEN {
            return None;
        }
        let _alone = self.putting.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.orderer.has_room() {
            return None;
        }
        self.open.fetch_add(1, Ordering::AcqRel);
        Some(self.orderer.put(order))
    }

    /// Whether an order has been carried out, well or not.
    pub(crate) fn is_done(&self, number: u64) -> bool {
        self.orderer.answer(number, 0).is_some()
    }

    /// Waits for the end of an order, which is then forgotten, or recalls it if the node does not come to it; `None` if
    /// there will be no answer, because the node is gone, as `lost` says.
    pub(crate) fn finish(&self, number: u64, count: u32, lost: impl Fn() -> bool) -> Option<Ended> {
        let began = now_ns();
        let mut watch = Watch { next: self.orderer.past(), since: began };
        loop {
            if let Some(answer) = self.orderer.answer(number, count) {
                self.open.fetch_sub(1, Ordering::AcqRel);
                return Some(Ended::Answered(answer));
            }
            if lost() || self.orderer.is_able() == Some(false) {
                // It may have answered just before.
                return self.orderer.answer(number, count).map(Ended::Answered);
            }
            let now = now_ns();
            if self.is_stalled(&mut watch, now)
                && let Some(order) = self.orderer.recall(number)
            {
                self.open.fetch_sub(1, Ordering::AcqRel);
                return Some(Ended::Recalled(order));
            }
            if now < began + SPIN_NS { std::hint::spin_loop() } else { sleep_ns(LOOK_NS) }
        }
    }

    /// Whether the node does not come to the order that is next for it.
    fn is_stalled(&self, watch: &mut Watch, now: u64) -> bool {
        let next = self.orderer.past();
        if next != watch.next || self.orderer.is_begun(next) {
            *watch = Watch { next, since: now };
            return false;
        }
        if self.stalled_at.load(Ordering::Relaxed) == next {
            return true;
        }
        let is_stalled = now >= watch.since + BEGIN_NS;
        if is_stalled {
            self.stalled_at.store(next, Ordering::Relaxed);
        }
        is_stalled
    }
}
