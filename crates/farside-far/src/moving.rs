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

/// Looks before that, a few nanoseconds each.
const SPINS: u32 = 20_000;

/// The program's side of what moves its pages.
pub(crate) struct Moving {
    orderer: Orderer,
    putting: Mutex<()>,
    open: AtomicU64,
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
        Ok(able.then(|| Self { orderer, putting: Mutex::new(()), open: AtomicU64::new(0) }))
    }

    /// Puts an order; `None` if too many are open.
    pub(crate) fn put(&self, order: Order) -> Option<u64> {
        if self.open.load(Ordering::Acquire) >= MOST_OPEN {
            return None;
        }
        let _alone = self.putting.lock().unwrap_or_else(PoisonError::into_inner);
        self.open.fetch_add(1, Ordering::AcqRel);
        Some(self.orderer.put(order))
    }

    /// Whether an order has been carried out, well or not.
    pub(crate) fn is_done(&self, number: u64) -> bool {
        self.orderer.answer(number, 0).is_some()
    }

    /// Waits for the answer to an order, which is then forgotten; `None` if there will be none, because the node is
    /// gone, as `lost` says.
    pub(crate) fn finish(
        &self,
        number: u64,
        count: u32,
        lost: impl Fn() -> bool,
    ) -> Option<Answer> {
        let mut looks = 0;
        loop {
            if let Some(answer) = self.orderer.answer(number, count) {
                self.open.fetch_sub(1, Ordering::AcqRel);
                return Some(answer);
            }
            if lost() || self.orderer.is_able() == Some(false) {
                // It may have answered just before.
                return self.orderer.answer(number, count);
            }
            looks += 1;
            if looks < SPINS { std::hint::spin_loop() } else { sleep_ns(LOOK_NS) }
        }
    }
}
