//! The address-space seam: what the pager may do to pages, and the kernel's implementation of it.

use std::ffi::CStr;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};

use crate::descriptor::out_of_the_way;
use crate::userfault::{Partial, Userfault, feature};
use crate::{OsError, Result};
use crate::{emulated_move, memory};

/// Operations on the pages of a process. The pager is written against this trait, so that the same
/// state machine runs on the kernel and in the seeded simulator.
///
/// Addresses are page-aligned and lie in ranges the pager owns: the far region, or the frame area from
/// which and to which frames are moved. All lengths are in bytes, multiples of the page size. Present
/// pages are ordinary memory at their address, in the kernel's implementation as in any other.
pub trait AddressSpace: Send + Sync {
    /// Copies `src` to absent pages at `dst`, write-protected if `protect`; with `wake` the threads
    /// waiting there go on.
    fn copy_in(
        &self,
        dst: usize,
        src: &[u8],
        protect: bool,
        wake: bool,
    ) -> std::result::Result<(), Partial>;

    /// Moves frames from `src` to absent pages at `dst`; with `wake` the threads waiting for `dst` go
    /// on.
    fn move_frames(
        &self,
        dst: usize,
        src: usize,
        len: usize,
        wake: bool,
    ) -> std::result::Result<(), Partial>;

    /// Makes present pages writable and wakes their writers.
    fn allow_writes(&self, addr: usize, len: usize) -> Result<()>;

    /// Makes present pages write-protected: their writers wait until writes are allowed, or they are
    /// woken and find the pages gone.
    fn forbid_writes(&self, addr: usize, len: usize) -> Result<()>;

    /// Wakes the threads that wait for pages of the range.
    fn wake(&self, addr: usize, len: usize) -> Result<()>;

    /// Drops present pages of several ranges with as few system calls as the kernel allows.
    fn drop_pages(&self, ranges: &[(usize, usize)]) -> Result<()>;

    /// Gives every page of an unregistered scratch range a zeroed frame.
    fn populate_zeroed(&self, addr: usize, len: usize) -> Result<()>;

    /// Makes the frame of a present page this process's own, by breaking copy-on-write sharing.
    fn unshare(&self, addr: usize, len: usize) -> Result<()>;

    /// Reads present pages whatever protection the program gave them.
    fn read_protected(&self, addr: usize, into: &mut [u8]) -> Result<()>;

    /// Whether the kernel has neither a frame nor a swapped page there. Looked at only where something is wrong:
    /// `false` if that cannot be told.
    fn is_absent(&self, addr: usize) -> bool;

    /// Puts a freshly mapped range of the region under management.
    fn manage(&self, addr: usize, len: usize) -> Result<()>;

    /// Changes the protection of a range, as `mprotect` does.
    fn protect(&self, addr: usize, len: usize, prot: i32) -> Result<()>;

    /// Nanoseconds of a monotonic clock.
    fn now_ns(&self) -> u64;

    /// Lets other threads run, and comes back after `ns` nanoseconds; with 0, as soon as it may.
    fn rest(&self, ns: u64);

    /// What the caller waits for (a lock, a gate) is not to be had yet. `false` tells it to wait as
    /// threads do; `true` that others had a chance to go on meanwhile, and to try again.
    fn contended(&self) -> bool {
        false
    }
}

/// The kernel's address space, through userfaultfd.
#[derive(Debug)]
pub struct KernelSpace {
    uffd: Userfault,
    /// Whether frames are moved; else their content is copied.
    moves: bool,
    /// Whether one call may drop many scattered ranges (`process_madvise` on oneself, Linux 6.13).
    vectored_drop: std::sync::atomic::AtomicBool,
}

/// `PIDFD_SELF_THREAD_GROUP`, which names the calling process without a descriptor (Linux 6.14).
const PIDFD_SELF: i32 = -10001;

/// Most ranges that one vectored call takes (`UIO_MAXIOV`).
const MAX_VECTOR: usize = 1024;

/// Bits of an entry of `/proc/PID/pagemap`.
const PAGEMAP_PRESENT: u64 = 1 << 63;
const PAGEMAP_SWAPPED: u64 = 1 << 62;

/// Opens a file of this process for reading, by a system call that the program's library does not see.
fn open_own(path: &CStr, subject: &'static str) -> Result<OwnedFd> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    // SAFETY: the path is a valid C string.
    let fd = unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags) };
    let fd = crate::error::check(fd, "open", subject)?;
    // SAFETY: a fresh descriptor nobody else owns.
    Ok(out_of_the_way(unsafe { OwnedFd::from_raw_fd(fd as i32) }))
}

impl KernelSpace {
    /// Wraps an open descriptor. Frames are moved if that was asked for when it was opened.
    pub fn new(uffd: Userfault) -> Self {
        let moves = uffd.features() & feature::MOVE != 0;
        Self { uffd, moves, vectored_drop: std::sync::atomic::AtomicBool::new(true) }
    }

    /// The descriptor that messages are read from.
    pub fn uffd(&self) -> &Userfault {
        &self.uffd
    }

    fn drop_vector(&self, ranges: &[(usize, usize)]) -> Result<usize> {
        let mut vector = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; 64];
        let count = ranges.len().min(vector.len()).min(MAX_VECTOR);
        let mut total = 0;
        for (entry, (addr, len)) in vector.iter_mut().zip(ranges) {
            *entry = libc::iovec { iov_base: *addr as *mut libc::c_void, iov_len: *len };
            total += len;
        }
        // SAFETY: the ranges belong to the pager, which gives up their content.
        let result = unsafe {
            libc::syscall(
                libc::SYS_process_madvise,
                PIDFD_SELF,
                vector.as_ptr(),
                count,
                libc::MADV_DONTNEED,
                0,
            )
        };
        if result < 0 {
            return Err(OsError::last("process_madvise", "the far region"));
        }
        if result as usize != total {
            // A short count means a range in the middle was refused; do the rest one by one.
            return Err(OsError {
                call: "process_madvise",
                subject: "the far region",
                errno: libc::EINVAL,
            });
        }
        Ok(count)
    }
}

impl AddressSpace for KernelSpace {
    fn copy_in(
        &self,
        dst: usize,
        src: &[u8],
        protect: bool,
        wake: bool,
    ) -> std::result::Result<(), Partial> {
        // SAFETY: `src` is a live slice; the destination is the pager's.
        unsafe { self.uffd.copy(dst, src.as_ptr() as usize, src.len(), protect, wake) }
    }

    fn move_frames(
        &self,
        dst: usize,
        src: usize,
        len: usize,
        wake: bool,
    ) -> std::result::Result<(), Partial> {
        if !self.moves {
            // SAFETY: the buffer is a live slice; the destination is the pager's.
            let copy = |dst, content: &[u8]| unsafe {
                self.uffd.copy(dst, content.as_ptr() as usize, content.len(), false, wake)
            };
            return emulated_move::move_frames(self, copy, dst, src, len);
        }
        // SAFETY: both ranges are the pager's, which tracks where each frame is.
        unsafe { self.uffd.move_frames(dst, src, len, false, wake) }
    }

    fn allow_writes(&self, addr: usize, len: usize) -> Result<()> {
        self.uffd.write_protect(addr, len, false)
    }

    fn forbid_writes(&self, addr: usize, len: usize) -> Result<()> {
        self.uffd.write_protect(addr, len, true)
    }

    fn wake(&self, addr: usize, len: usize) -> Result<()> {
        self.uffd.wake(addr, len)
    }

    fn drop_pages(&self, ranges: &[(usize, usize)]) -> Result<()> {
        use std::sync::atomic::Ordering::Relaxed;
        let mut rest = ranges;
        while !rest.is_empty() {
            if rest.len() > 1 && self.vectored_drop.load(Relaxed) {
                match self.drop_vector(rest) {
                    Ok(count) => rest = &rest[count..],
                    Err(_) => self.vectored_drop.store(false, Relaxed),
                }
            } else {
                let (addr, len) = rest[0];
                memory::drop_range(addr, len, "the far region")?;
                rest = &rest[1..];
            }
        }
        Ok(())
    }

    fn populate_zeroed(&self, addr: usize, len: usize) -> Result<()> {
        memory::populate(addr, len, "fresh frames")
    }

    fn unshare(&self, addr: usize, len: usize) -> Result<()> {
        memory::populate(addr, len, "a shared page")
    }

    fn read_protected(&self, addr: usize, into: &mut [u8]) -> Result<()> {
        let file = open_own(c"/proc/self/mem", "/proc/self/mem")?;
        memory::read_at(file.as_fd(), addr as u64, into, "/proc/self/mem")
    }

    fn is_absent(&self, addr: usize) -> bool {
        let mut entry = [0; size_of::<u64>()];
        let at = (addr / memory::PAGE * entry.len()) as u64;
        let read = open_own(c"/proc/self/pagemap", "/proc/self/pagemap")
            .and_then(|file| memory::read_at(file.as_fd(), at, &mut entry, "/proc/self/pagemap"));
        read.is_ok() && u64::from_ne_bytes(entry) & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED) == 0
    }

    fn manage(&self, addr: usize, len: usize) -> Result<()> {
        self.uffd.register(addr, len, true)
    }

    fn protect(&self, addr: usize, len: usize, prot: i32) -> Result<()> {
        memory::protect(addr, len, prot, "the far region")
    }

    fn now_ns(&self) -> u64 {
        crate::thread::now_ns()
    }

    fn rest(&self, ns: u64) {
        if ns == 0 {
            std::thread::yield_now();
        } else {
            crate::thread::sleep_ns(ns);
        }
    }
}
