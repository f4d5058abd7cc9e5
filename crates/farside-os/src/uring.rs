//! Reads and writes of a file that go on while the caller does something else (`io_uring`).
//!
//! As of [connections](crate::stream), no call is a cancellation point. Several threads may use a ring at once: whoever
//! waits first takes note of completions for all.

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd, IntoRawFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use io_uring::{EnterFlags, IoUring, opcode, types};

use crate::memory::{self, PAGE};
use crate::thread::{futex_wait, futex_wake, sleep_ns};
use crate::{OsError, Result, descriptor};

const SUBJECT: &str = "a ring";

/// Most parts of a transfer.
pub const MOST_PARTS: usize = 64;

/// Most parts under way on a ring.
pub const MOST_DEPTH: u32 = 1024;

/// What a call has for a result as long as there is none.
const PENDING: i64 = i64::MIN;

/// A thread that lets another one take note of its completions looks after that so often.
const LOOK_NS: u64 = 1_000_000;

/// A kernel that lacks memory for requests is asked again so many times, after so long.
const TRIES: u32 = 1000;
const REST_NS: u64 = 100_000;

/// Memory of its own pages, which nothing else uses.
#[derive(Debug)]
pub struct Buffer {
    at: usize,
    len: usize,
}

impl Buffer {
    /// `len` bytes, a multiple of a page.
    ///
    /// # Errors
    /// If the kernel gives none.
    pub fn new(len: usize) -> Result<Self> {
        let at = memory::reserve(len, PAGE, "a buffer")?;
        Ok(Self { at, len })
    }

    /// Its content.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping is ours alone, of that length, and zero or written at every place.
        unsafe { std::slice::from_raw_parts(self.at as *const u8, self.len) }
    }

    /// Its content.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as of `bytes`.
        unsafe { std::slice::from_raw_parts_mut(self.at as *mut u8, self.len) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // Failing to unmap costs memory only.
        let _ = memory::unmap(self.at, self.len, "a buffer");
    }
}

/// Which way bytes go.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the file to the buffer.
    Read,
    /// From the buffer to the file.
    Write,
}

/// A part of a buffer, and where in the file it belongs.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Where in the buffer it begins.
    pub from: usize,
    /// Bytes.
    pub len: usize,
    /// Where in the file it begins.
    pub offset: u64,
}

/// Parts that are under way. One that is never [finished](Self::finish) keeps its buffer for ever: the kernel may still
/// be using it.
#[must_use]
pub struct Transfer {
    ring: Arc<Uring>,
    buffer: ManuallyDrop<Buffer>,
    calls: [u16; MOST_PARTS],
    count: usize,
}

/// A request to the kernel.
#[derive(Debug)]
struct Call {
    /// [`PENDING`], or what the kernel said.
    result: AtomicI64,
    len: AtomicU32,
}

/// A ring.
pub struct Uring {
    ring: IoUring,
    /// Held by who puts requests on the ring.
    submitting: Mutex<()>,
    /// Held by who takes completions off it.
    reaping: Mutex<()>,
    calls: Box<[Call]>,
    free: Mutex<Vec<u16>>,
    /// Changes whenever a thread that does not take completions itself may have reason to look.
    changed: AtomicU32,
    /// Threads that wait for a change.
    waiting: AtomicU32,
    /// The kernel takes no more requests.
    broken: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failed(call: &'static str) -> impl Fn(io::Error) -> OsError {
    move |error| OsError {
        call,
        subject: SUBJECT,
        errno: error.raw_os_error().unwrap_or(libc::EIO),
    }
}

impl Uring {
    /// A ring for `depth` parts under way, whose descriptor is out of the way.
    ///
    /// # Errors
    /// If the kernel has none, or refuses it to this process.
    pub fn new(depth: u32) -> Result<Self> {
        let depth = depth.clamp(1, MOST_DEPTH);
        let first = IoUring::new(depth).map_err(failed("io_uring_setup"))?;
        let params = first.params().clone();
        if !params.is_feature_submit_stable() || !params.is_feature_nodrop() {
            return Err(OsError { call: "io_uring_setup", subject: SUBJECT, errno: libc::ENOSYS });
        }
        // SAFETY: the descriptor is open, and stays so for the copy to be made.
        let copy = descriptor::duplicate(unsafe { BorrowedFd::borrow_raw(first.as_raw_fd()) })?;
        // SAFETY: the descriptor is ours, and of the ring that these parameters are of.
        let ring = unsafe { IoUring::from_fd(copy.into_raw_fd(), params) };
        let call = || Call { result: AtomicI64::new(PENDING), len: AtomicU32::new(0) };
        Ok(Self {
            ring: ring.map_err(failed("mmap"))?,
            submitting: Mutex::new(()),
            reaping: Mutex::new(()),
            calls: (0..depth).map(|_| call()).collect(),
            free: Mutex::new((0..depth as u16).rev().collect()),
            changed: AtomicU32::new(0),
            waiting: AtomicU32::new(0),
            broken: AtomicBool::new(false),
        })
    }

    /// Begins a transfer of the first [`MOST_PARTS`] of `parts`, or of fewer if too much is under way.
    ///
    /// # Panics
    /// If a part lies outside of the buffer.
    pub fn begin(
        self: &Arc<Self>,
        file: BorrowedFd<'_>,
        direction: Direction,
        buffer: Buffer,
        parts: &[Part],
    ) -> Transfer {
        let mut transfer = Transfer {
            ring: Arc::clone(self),
            buffer: ManuallyDrop::new(buffer),
            calls: [0; MOST_PARTS],
            count: 0,
        };
        let _submitting = lock(&self.submitting);
        if self.broken.load(Ordering::Relaxed) {
            return transfer;
        }
        // SAFETY: only who holds the lock puts requests on the ring.
        let mut queue = unsafe { self.ring.submission_shared() };
        for (part, place) in parts.iter().zip(0..MOST_PARTS) {
            let Some(call) = lock(&self.free).pop() else { break };
            let entry = self.entry(file.as_raw_fd(), direction, &transfer.buffer, part);
            let Call { result, len } = &self.calls[usize::from(call)];
            result.store(PENDING, Ordering::Relaxed);
            len.store(part.len as u32, Ordering::Relaxed);
            // SAFETY: the buffer belongs to the transfer, which gives it back only when the request has ended. There is
            // room, as there is for as many requests as there are calls.
            let _ = unsafe { queue.push(&entry.user_data(call.into())) };
            transfer.calls[place] = call;
            transfer.count += 1;
        }
        drop(queue);
        let left = self.submit(transfer.count);
        for call in &transfer.calls[transfer.count - left..transfer.count] {
            // The kernel never sees these.
            self.calls[usize::from(*call)].result.store(-i64::from(libc::EIO), Ordering::Release);
        }
        transfer
    }

    fn entry(
        &self,
        file: RawFd,
        direction: Direction,
        buffer: &Buffer,
        part: &Part,
    ) -> io_uring::squeue::Entry {
        assert!(part.from <= buffer.len && part.len <= buffer.len - part.from, "no such part");
        let (at, len) = ((buffer.at + part.from) as *mut u8, part.len as u32);
        match direction {
            Direction::Read => {
                opcode::Read::new(types::Fd(file), at, len).offset(part.offset).build()
            }
            Direction::Write => {
                opcode::Write::new(types::Fd(file), at, len).offset(part.offset).build()
            }
        }
    }

    /// Hands the kernel the `left` requests on the ring; returns how many it does not take.
    fn submit(&self, mut left: usize) -> usize {
        let mut tries = 0;
        while left > 0 {
            match self.ring.submit() {
                Ok(taken) if taken > 0 => left -= taken.min(left),
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                Ok(_) => tries += 1,
                Err(error) => match error.raw_os_error() {
                    Some(libc::EAGAIN | libc::EBUSY) if tries < TRIES => {
                        tries += 1;
                        sleep_ns(REST_NS);
                    }
                    _ => tries = TRIES,
                },
            }
            if tries >= TRIES {
                // What is left on the ring stays there.
                self.broken.store(true, Ordering::Relaxed);
                break;
            }
        }
        left
    }

    /// Waits until there is a result.
    fn wait(&self, call: &Call) -> i64 {
        loop {
            let seen = self.changed.load(Ordering::SeqCst);
            let result = call.result.load(Ordering::Acquire);
            if result != PENDING {
                return result;
            }
            match self.reaping.try_lock() {
                Ok(reaping) => {
                    let result = self.reap_until(call);
                    drop(reaping);
                    // Somebody else takes completions off the ring from now on.
                    self.tell_others();
                    return result;
                }
                Err(_) => {
                    self.waiting.fetch_add(1, Ordering::SeqCst);
                    futex_wait(&self.changed, seen, Some(LOOK_NS));
                    self.waiting.fetch_sub(1, Ordering::SeqCst);
                }
            }
        }
    }

    /// Takes completions off the ring, which is for the caller alone to do, until that of `call` is among them.
    fn reap_until(&self, call: &Call) -> i64 {
        loop {
            let mut found = false;
            // SAFETY: only who holds the lock takes completions off the ring.
            for entry in unsafe { self.ring.completion_shared() } {
                let Some(of) = self.calls.get(entry.user_data() as usize) else { continue };
                of.result.store(entry.result().into(), Ordering::Release);
                found = true;
            }
            let result = call.result.load(Ordering::Acquire);
            if result != PENDING {
                return result;
            }
            if found {
                self.tell_others();
            }
            let wait = EnterFlags::GETEVENTS.bits();
            // SAFETY: nothing is submitted, and there is no argument.
            let woken = unsafe { self.ring.submitter().enter::<()>(0, 1, wait, None) };
            if woken.is_err_and(|error| error.raw_os_error() != Some(libc::EINTR)) {
                // Completions can be seen nevertheless.
                sleep_ns(REST_NS);
            }
        }
    }

    /// Takes completions that are there off the ring, unless somebody does that already.
    fn reap_some(&self) {
        let Ok(_reaping) = self.reaping.try_lock() else { return };
        // SAFETY: only who holds the lock takes completions off the ring.
        for entry in unsafe { self.ring.completion_shared() } {
            if let Some(of) = self.calls.get(entry.user_data() as usize) {
                of.result.store(entry.result().into(), Ordering::Release);
            }
        }
        self.tell_others();
    }

    fn tell_others(&self) {
        self.changed.fetch_add(1, Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            futex_wake(&self.changed, i32::MAX as u32);
        }
    }
}

impl Transfer {
    /// Whether its end need not be waited for.
    pub fn has_ended(&self) -> bool {
        let is_over = |call: &u16| {
            self.ring.calls[usize::from(*call)].result.load(Ordering::Acquire) != PENDING
        };
        let calls = &self.calls[..self.count];
        if !calls.iter().all(is_over) {
            self.ring.reap_some();
        }
        calls.iter().all(is_over)
    }

    /// Waits for its end; returns the buffer and, by bits, which of the parts are where they belong.
    pub fn finish(self) -> (Buffer, u64) {
        let ring = &*self.ring;
        let mut done = 0;
        for (place, call) in self.calls[..self.count].iter().enumerate() {
            let call = &ring.calls[usize::from(*call)];
            let whole = ring.wait(call) == i64::from(call.len.load(Ordering::Relaxed));
            done |= u64::from(whole) << place;
        }
        lock(&ring.free).extend(&self.calls[..self.count]);
        (ManuallyDrop::into_inner(self.buffer), done)
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    fn ring(depth: u32) -> Option<Arc<Uring>> {
        match Uring::new(depth) {
            Ok(ring) => Some(Arc::new(ring)),
            Err(error) => {
                println!("skipped: the kernel has no ring for us: {error}");
                None
            }
        }
    }

    fn page(at: usize) -> Part {
        Part { from: at * PAGE, len: PAGE, offset: (3 * at * PAGE) as u64 }
    }

    #[test]
    fn parts_arrive_where_they_belong() {
        let Some(ring) = ring(8) else { return };
        let file = memory::anonymous_file(c"test", 1 << 20).unwrap();
        assert!(ring.ring.as_raw_fd() >= 700);
        let parts: Vec<Part> = (0..6).map(page).collect();
        let mut buffer = Buffer::new(6 * PAGE).unwrap();
        for (at, content) in buffer.bytes_mut().chunks_exact_mut(PAGE).enumerate() {
            content.fill(at as u8 + 1);
        }
        let (_, done) = ring.begin(file.as_fd(), Direction::Write, buffer, &parts).finish();
        assert_eq!(done, 0b11_1111);
        let buffer = Buffer::new(6 * PAGE).unwrap();
        let (buffer, done) = ring.begin(file.as_fd(), Direction::Read, buffer, &parts).finish();
        assert_eq!(done, 0b11_1111);
        for (at, content) in buffer.bytes().chunks_exact(PAGE).enumerate() {
            assert!(content.iter().all(|byte| *byte == at as u8 + 1));
        }
    }

    #[test]
    fn what_does_not_go_or_fails_is_told() {
        let Some(ring) = ring(4) else { return };
        let file = memory::anonymous_file(c"test", 4 * PAGE as u64).unwrap();
        let parts: Vec<Part> = (0..6).map(page).collect();
        let buffer = Buffer::new(6 * PAGE).unwrap();
        let transfer = ring.begin(file.as_fd(), Direction::Read, buffer, &parts);
        let none =
            ring.begin(file.as_fd(), Direction::Read, Buffer::new(PAGE).unwrap(), &parts[..1]);
        assert_eq!(none.finish().1, 0, "four are under way");
        // The file ends before the third.
        assert_eq!(transfer.finish().1, 0b11);
        let buffer = Buffer::new(PAGE).unwrap();
        let (_, done) = ring.begin(file.as_fd(), Direction::Read, buffer, &parts[..1]).finish();
        assert_eq!(done, 1, "calls are used again");
    }

    #[test]
    fn many_threads_share_a_ring() {
        let Some(ring) = ring(16) else { return };
        let file = memory::anonymous_file(c"test", 1 << 20).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8u8 {
                let (ring, file) = (&ring, file.as_fd());
                scope.spawn(move || {
                    let part = |round: usize| Part {
                        from: 0,
                        len: PAGE,
                        offset: ((usize::from(thread) * 8 + round % 8) * PAGE) as u64,
                    };
                    let mut buffer = Buffer::new(PAGE).unwrap();
                    for round in 0..500 {
                        buffer.bytes_mut().fill(round as u8 ^ thread);
                        let sent = ring.begin(file, Direction::Write, buffer, &[part(round)]);
                        let done;
                        (buffer, done) = sent.finish();
                        assert_eq!(done, 1);
                        buffer.bytes_mut().fill(0);
                        let sent = ring.begin(file, Direction::Read, buffer, &[part(round)]);
                        buffer = sent.finish().0;
                        assert!(buffer.bytes().iter().all(|byte| *byte == round as u8 ^ thread));
                    }
                });
            }
        });
    }
}
