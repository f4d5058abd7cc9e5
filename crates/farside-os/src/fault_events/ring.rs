//! The memory through which the kernel hands over events.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use perf_event_open_sys::bindings::perf_event_mmap_page;

use crate::memory::{self, PAGE};
use crate::{OsError, Result};

/// A ring that the kernel fills and we empty.
#[derive(Debug)]
pub struct Ring {
    at: usize,
    /// Bytes of data, a power of two.
    bytes: usize,
}

impl Ring {
    /// The ring of an event, of `bytes`, a power of two, or fewer if this user may not have so many.
    pub fn new(event: &OwnedFd, bytes: usize) -> Result<Self> {
        let mut bytes = bytes.next_power_of_two();
        loop {
            match memory::map_shared(event.as_fd(), PAGE + bytes, "the ring of an event") {
                Ok(at) => return Ok(Self { at, bytes }),
                Err(OsError { errno: libc::EPERM | libc::ENOMEM, .. }) if bytes > PAGE => {
                    bytes /= 2;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn number(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the first page is mapped while `self` lives, the offset is that of an aligned number in it, and
        // atomics are valid for any content.
        unsafe { &*((self.at + offset) as *const AtomicU64) }
    }

    /// Takes all that has come, and puts it into `into`.
    pub fn take(&self, into: &mut Vec<u8>) {
        into.clear();
        let head = self.number(std::mem::offset_of!(perf_event_mmap_page, data_head));
        let tail = self.number(std::mem::offset_of!(perf_event_mmap_page, data_tail));
        let (to, from) = (head.load(Ordering::Acquire), tail.load(Ordering::Relaxed));
        let count = (to.wrapping_sub(from) as usize).min(self.bytes);
        let start = from as usize & (self.bytes - 1);
        let first = count.min(self.bytes - start);
        for (start, count) in [(start, first), (0, count - first)] {
            // SAFETY: the data follows the first page and is `bytes` long; the kernel does not write between tail and
            // head, which it published before.
            into.extend_from_slice(unsafe {
                std::slice::from_raw_parts((self.at + PAGE + start) as *const u8, count)
            });
        }
        tail.store(to, Ordering::Release);
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // What cannot be unmapped stays mapped, and harms nobody.
        let _ = memory::unmap(self.at, PAGE + self.bytes, "the ring of an event");
    }
}
