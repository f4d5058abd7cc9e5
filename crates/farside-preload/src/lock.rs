//! A lock that can be held across `fork`.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::sys;

const FREE: u32 = 0;
const HELD: u32 = 1;
const HELD_AND_WANTED: u32 = 2;

/// A mutual exclusion lock over `T`.
///
/// Unlike the standard one it can be taken in a `fork` handler and given back in both processes.
pub struct Lock<T> {
    word: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the lock hands the value to one thread at a time.
unsafe impl<T: Send> Sync for Lock<T> {}

/// Access to the value of a [`Lock`]; dropping it gives the lock back.
pub struct Held<'a, T>(&'a Lock<T>);

impl<T> Lock<T> {
    /// A free lock.
    pub const fn new(value: T) -> Self {
        Self { word: AtomicU32::new(FREE), value: UnsafeCell::new(value) }
    }

    /// Waits for the lock.
    pub fn lock(&self) -> Held<'_, T> {
        self.acquire();
        Held(self)
    }

    /// Takes the lock without a guard; [`release_after_fork`](Self::release_after_fork) gives it back.
    pub fn hold_for_fork(&self) {
        self.acquire();
    }

    /// Gives back what [`hold_for_fork`](Self::hold_for_fork) took.
    ///
    /// # Safety
    /// The calling thread took it, or is the child's copy of the thread that did.
    pub unsafe fn release_after_fork(&self) {
        self.release();
    }

    fn acquire(&self) {
        if self.word.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok() {
            return;
        }
        while self.word.swap(HELD_AND_WANTED, Acquire) != FREE {
            sys::futex_wait(&self.word, HELD_AND_WANTED);
        }
    }

    fn release(&self) {
        if self.word.swap(FREE, Release) == HELD_AND_WANTED {
            sys::futex_wake(&self.word);
        }
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: this thread holds the lock.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread holds the lock.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Held<'_, T> {
    fn drop(&mut self) {
        self.0.release();
    }
}
