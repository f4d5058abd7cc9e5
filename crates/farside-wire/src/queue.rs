//! A queue of words in memory that two processes share: one puts, the other takes.
//!
//! Whoever holds one end cannot harm the other through it: the numbers in the header are checked before
//! use, and every word is a number of its own.

use std::fmt;
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use farside_os::memory::{self, PAGE};
use farside_os::thread::sleep_ns;
use farside_os::{OsError, Result};

use crate::hint_board;

/// Words that fit into a queue.
pub const WORDS: usize = 1 << 16;

/// First word of a queue: its kind and the version of its layout.
const MAGIC: u64 = u64::from_le_bytes(*b"fsqueue\x01");

/// How long an end waits before it looks again, at first, in nanoseconds.
const SHORT_NS: u64 = 20_000;

/// The same when it has been waiting for long.
const LONG_NS: u64 = 1_000_000;

/// What lies before the words. Both ends' numbers have cache lines of their own.
#[repr(C, align(64))]
struct Header {
    magic: AtomicU64,
    /// Nobody will put any more.
    closed: AtomicU32,
    /// Nobody will take any more.
    abandoned: AtomicU32,
    _space: [u64; 6],
    /// Words put so far.
    put: AtomicU64,
    _more: [u64; 7],
    /// Words taken so far.
    taken: AtomicU64,
}

/// Bytes of a queue.
pub(crate) const BYTES: usize = PAGE + WORDS * 8;

/// The mapping of a queue.
struct Shared {
    at: usize,
    _not_copied: PhantomData<*mut Header>,
}

// SAFETY: all content is atomics, which may be used from any thread.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    fn map(file: BorrowedFd<'_>) -> Result<Self> {
        let at = memory::map_shared(file, BYTES, "a queue")?;
        Ok(Self { at, _not_copied: PhantomData })
    }

    fn header(&self) -> &Header {
        // SAFETY: the mapping is page-aligned, longer than the header, and lives as long as `self`;
        // atomics are valid for any content.
        unsafe { &*(self.at as *const Header) }
    }

    fn word(&self, number: u64) -> &AtomicU64 {
        let index = number as usize % WORDS;
        // SAFETY: the words follow the first page; the index lies within them. As above otherwise.
        unsafe { &*((self.at + PAGE) as *const AtomicU64).add(index) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // A range that cannot be unmapped stays mapped, and harms nobody.
        let _ = memory::unmap(self.at, BYTES, "a queue");
    }
}

/// The other end is gone: nobody takes what is put.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Abandoned;

/// The end that puts words.
pub struct Sender {
    shared: Shared,
}

impl Sender {
    /// The sending end of the queue in `file`, which [`Receiver::new`] made in this process or another.
    ///
    /// # Errors
    /// If it cannot be mapped, or is of another version.
    pub fn open(file: BorrowedFd<'_>) -> Result<Self> {
        let shared = Shared::map(file)?;
        if shared.header().magic.load(Ordering::Acquire) != MAGIC {
            return Err(OsError { call: "mmap", subject: "a queue", errno: libc::EPROTO });
        }
        Ok(Self { shared })
    }

    /// Puts `words`, at most [`WORDS`], which the other end sees all at once. Waits for room; `alive`, asked now and
    /// then, tells whether the other end still lives.
    ///
    /// # Errors
    /// [`Abandoned`] if the other end does not take any more.
    pub fn put(
        &self,
        words: &[u64],
        alive: impl Fn() -> bool,
    ) -> std::result::Result<(), Abandoned> {
        let header = self.shared.header();
        let put = header.put.load(Ordering::Relaxed);
        let mut rounds = 0u64;
        while put + words.len() as u64 > header.taken.load(Ordering::Acquire) + WORDS as u64 {
            if header.abandoned.load(Ordering::Relaxed) != 0 || rounds % 64 == 63 && !alive() {
                return Err(Abandoned);
            }
            rounds += 1;
            sleep_ns(pause(rounds));
        }
        for (number, word) in (put..).zip(words) {
            self.shared.word(number).store(*word, Ordering::Relaxed);
        }
        header.put.store(put + words.len() as u64, Ordering::Release);
        Ok(())
    }

    /// Says that nothing more will come.
    pub fn close(&self) {
        self.shared.header().closed.store(1, Ordering::Release);
    }
}

/// The end that takes words.
pub struct Receiver {
    shared: Shared,
    file: OwnedFd,
}

impl Receiver {
    /// A new, empty queue.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn new() -> Result<Self> {
        let file = memory::sealed_file(c"farside-queue", (BYTES + hint_board::BYTES) as u64)?;
        let shared = Shared::map(file.as_fd())?;
        shared.header().magic.store(MAGIC, Ordering::Release);
        Ok(Self { shared, file })
    }

    /// What the other process opens its end by.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Adds to `words` what has come, and returns how much that was.
    pub fn take(&self, words: &mut Vec<u64>) -> usize {
        let header = self.shared.header();
        let taken = header.taken.load(Ordering::Relaxed);
        let put = header.put.load(Ordering::Acquire);
        // A sender that writes nonsense there gets nonsense read, at most a queue of it.
        let count = put.wrapping_sub(taken).min(WORDS as u64);
        words.extend(
            (taken..taken + count).map(|number| self.shared.word(number).load(Ordering::Relaxed)),
        );
        header.taken.store(taken + count, Ordering::Release);
        count as usize
    }

    /// Whether nothing more will come than what has. To be asked before the last [`take`](Self::take).
    pub fn is_closed(&self) -> bool {
        self.shared.header().closed.load(Ordering::Acquire) != 0
    }

    /// Waits for a moment that depends on how often nothing had come.
    pub fn rest(fruitless: u64) {
        sleep_ns(pause(fruitless));
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.shared.header().abandoned.store(1, Ordering::Release);
    }
}

fn pause(rounds: u64) -> u64 {
    (SHORT_NS * rounds.max(1)).min(LONG_NS)
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
