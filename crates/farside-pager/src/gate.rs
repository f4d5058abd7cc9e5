//! Keeps transitions and forks apart.

use std::sync::atomic::{AtomicU32, Ordering};

use farside_os::space::AddressSpace;
use farside_os::thread::{futex_wait, futex_wake};

const CLOSED: u32 = 1 << 31;

/// Many may be inside at once; whoever closes the gate waits until all have left, and nobody enters
/// until it is opened again.
#[derive(Default)]
pub struct Gate {
    word: AtomicU32,
}

/// Proof of being inside; leaving is dropping it.
pub struct Inside<'a>(&'a Gate);

impl Gate {
    /// Enters, or says that the gate is closed.
    pub fn try_enter(&self) -> Option<Inside<'_>> {
        self.word
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, |word| {
                (word & CLOSED == 0).then_some(word + 1)
            })
            .ok()
            .map(|_| Inside(self))
    }

    /// Enters, waiting while the gate is closed.
    pub fn enter(&self, space: &dyn AddressSpace) -> Inside<'_> {
        loop {
            if let Some(inside) = self.try_enter() {
                return inside;
            }
            let word = self.word.load(Ordering::Relaxed);
            if word & CLOSED != 0 && !space.contended() {
                futex_wait(&self.word, word, Some(10_000_000));
            }
        }
    }

    /// Closes the gate and waits until nobody is inside. Closers exclude each other.
    pub fn close(&self, space: &dyn AddressSpace) {
        loop {
            let word = self.word.fetch_or(CLOSED, Ordering::Acquire);
            if word & CLOSED == 0 {
                break;
            }
            if !space.contended() {
                futex_wait(&self.word, word, Some(10_000_000));
            }
        }
        while self.word.load(Ordering::Acquire) != CLOSED {
            space.rest(0);
        }
    }

    /// Opens the gate again.
    pub fn open(&self) {
        self.word.store(0, Ordering::Release);
        futex_wake(&self.word, u32::MAX >> 1);
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.word.fetch_sub(1, Ordering::Release);
    }
}
