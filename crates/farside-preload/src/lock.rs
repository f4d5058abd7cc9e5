//! A lock that can be held across `fork`, and the gate that keeps threads out of the runtime meanwhile.

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
            sys::futex_wake(&self.word, 1);
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

const CLOSED: u32 = 1 << 31;

/// Many threads may be inside at once; whoever closes the gate waits until all have left, and nobody
/// enters until it is opened.
pub struct Gate(AtomicU32);

impl Gate {
    /// An open gate with nobody inside.
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Enters, waiting while the gate is closed.
    pub fn enter(&self) {
        let mut word = self.0.load(Relaxed);
        loop {
            if word & CLOSED != 0 {
                sys::futex_wait(&self.0, word);
                word = self.0.load(Relaxed);
                continue;
            }
            match self.0.compare_exchange_weak(word, word + 1, Acquire, Relaxed) {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }

    /// Leaves; the closer may be waiting for it.
    pub fn leave(&self) {
        if self.0.fetch_sub(1, Release) == CLOSED + 1 {
            sys::futex_wake(&self.0, ALL);
        }
    }

    /// Closes the gate and waits until nobody is inside. Closers exclude each other.
    pub fn close(&self) {
        let mut word = self.0.fetch_or(CLOSED, Acquire);
        while word & CLOSED != 0 {
            sys::futex_wait(&self.0, word);
            word = self.0.fetch_or(CLOSED, Acquire);
        }
        loop {
            let word = self.0.load(Acquire);
            if word == CLOSED {
                return;
            }
            sys::futex_wait(&self.0, word);
        }
    }

    /// Opens the gate: by the thread that closed it, or the child's copy of that thread.
    pub fn open(&self) {
        self.0.store(0, Release);
        sys::futex_wake(&self.0, ALL);
    }
}

/// Number of sleepers to wake: every one.
const ALL: u32 = i32::MAX as u32;
