//! What has arrived over a connection, in order.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::io::IoSliceMut;

use super::ffi::{self, AmRecvParam, Endpoint, Status};

/// Bytes of a message's number, with which it begins.
pub const NUMBER: usize = 8;

/// Bytes that have arrived and nobody has asked for, at most. The other side sends as many only if it does not keep to
/// the protocol, in which each request is answered.
const UNREAD: usize = 256 << 20;

/// What has arrived, as callbacks see it. They run while a thread makes progress, under the connection's lock.
#[derive(Default)]
pub struct Arrived {
    /// Where the thread that makes progress wants to have it, if it is one that receives, and how much has gone there.
    parts: Vec<(*mut u8, usize)>,
    part: usize,
    filled: usize,
    /// What there was no room for.
    rest: Vec<u8>,
    taken: usize,
    /// The number of the next message, and those that have arrived before it.
    next: u64,
    early: BTreeMap<u64, Box<[u8]>>,
    early_bytes: usize,
    /// How the connection has ended.
    pub ended: Option<Status>,
}

impl Arrived {
    /// Whether something waits for who receives.
    pub fn has_rest(&self) -> bool {
        self.taken < self.rest.len()
    }

    /// Begins to put what arrives into `parts`.
    ///
    /// # Safety
    /// They can be written until [`finish`](Self::finish) is called.
    pub unsafe fn begin(&mut self, parts: &mut [IoSliceMut<'_>]) {
        self.parts.clear();
        let parts = parts.iter_mut().filter(|part| !part.is_empty());
        self.parts.extend(parts.map(|part| (part.as_mut_ptr(), part.len())));
        (self.part, self.filled) = (0, 0);
        // SAFETY: the caller's contract.
        unsafe { self.take_rest() };
    }

    /// Ends that; returns how many bytes have gone there.
    pub fn finish(&mut self) -> usize {
        self.parts.clear();
        self.part = 0;
        std::mem::take(&mut self.filled)
    }

    /// Puts bytes where they are wanted.
    ///
    /// # Safety
    /// The parts can be written.
    unsafe fn fill<'a>(&mut self, mut bytes: &'a [u8]) -> &'a [u8] {
        while let Some((at, room)) = self.parts.get_mut(self.part)
            && !bytes.is_empty()
        {
            let len = bytes.len().min(*room);
            // SAFETY: the part has this much room.
            unsafe {
                at.copy_from_nonoverlapping(bytes.as_ptr(), len);
                *at = at.add(len);
            }
            *room -= len;
            self.part += usize::from(*room == 0);
            self.filled += len;
            bytes = &bytes[len..];
        }
        bytes
    }

    /// # Safety
    /// As [`fill`](Self::fill).
    unsafe fn take(&mut self, bytes: &[u8]) {
        // SAFETY: the caller's contract.
        let more = unsafe { self.fill(bytes) };
        if self.rest.len() + more.len() - self.taken > UNREAD {
            self.ended.get_or_insert(ffi::ERR_CANCELED);
        } else if !more.is_empty() {
            if self.taken > self.rest.len() / 2 {
                self.rest.drain(..std::mem::take(&mut self.taken));
            }
            self.rest.extend_from_slice(more);
        }
    }

    /// Takes a message, or keeps it until those before it have arrived.
    ///
    /// # Safety
    /// As [`fill`](Self::fill).
    unsafe fn take_message(&mut self, message: &[u8]) {
        if self.ended.is_some() {
            // Something may be missing before it.
            return;
        }
        let Some((number, bytes)) = message.split_first_chunk::<NUMBER>() else {
            self.ended.get_or_insert(ffi::ERR_CANCELED);
            return;
        };
        let number = u64::from_le_bytes(*number);
        if number != self.next {
            self.early_bytes += bytes.len();
            let is_new = number > self.next && self.early_bytes <= UNREAD;
            if !is_new || self.early.insert(number, bytes.into()).is_some() {
                self.ended.get_or_insert(ffi::ERR_CANCELED);
            }
            return;
        }
        // SAFETY: the caller's contract.
        unsafe { self.take(bytes) };
        self.next += 1;
        while let Some(bytes) = self.early.remove(&self.next) {
            self.early_bytes -= bytes.len();
            // SAFETY: the caller's contract.
            unsafe { self.take(&bytes) };
            self.next += 1;
        }
    }

    /// Hands out what there was no room for.
    ///
    /// # Safety
    /// As [`fill`](Self::fill).
    unsafe fn take_rest(&mut self) {
        let rest = std::mem::take(&mut self.rest);
        // SAFETY: the caller's contract.
        let left = unsafe { self.fill(&rest[self.taken..]) }.len();
        self.taken = rest.len() - left;
        self.rest = rest;
        if left == 0 {
            self.rest.clear();
            self.taken = 0;
        }
    }

    /// Whether the one who receives has got something.
    pub fn has_filled(&self) -> bool {
        self.filled > 0
    }
}

/// What callbacks have a pointer to.
pub struct Inbox(*mut Arrived);

impl Inbox {
    /// The pointer. What it points to is used under the connection's lock, and lives as long as this.
    pub fn raw(&self) -> *mut Arrived {
        self.0
    }
}

impl Default for Inbox {
    fn default() -> Self {
        Self(Box::into_raw(Box::default()))
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        // SAFETY: it came from a box, and the worker whose callbacks knew it is gone.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// Called for each active message.
///
/// # Safety
/// As UCX calls it, with a pointer to what has arrived.
pub unsafe extern "C" fn arrive(
    argument: *mut c_void,
    _header: *const c_void,
    header_len: usize,
    data: *mut c_void,
    len: usize,
    about: *const AmRecvParam,
) -> Status {
    // SAFETY: the argument is what the worker was given, nobody else looks at it while the worker makes progress, and
    // the data are valid during the call.
    unsafe {
        let arrived = &mut *argument.cast::<Arrived>();
        if (*about).recv_attr & ffi::AM_RECV_RNDV != 0 || header_len != 0 {
            // Nobody who speaks this protocol sends such.
            arrived.ended.get_or_insert(ffi::ERR_CANCELED);
        } else if !data.is_null() {
            arrived.take_message(std::slice::from_raw_parts(data.cast(), len));
        }
    }
    ffi::OK
}

/// Called when the connection ends.
///
/// # Safety
/// As [`arrive`].
pub unsafe extern "C" fn fail(argument: *mut c_void, _endpoint: Endpoint, status: Status) {
    // SAFETY: as in `arrive`.
    let arrived = unsafe { &mut *argument.cast::<Arrived>() };
    arrived.ended.get_or_insert(status);
}
