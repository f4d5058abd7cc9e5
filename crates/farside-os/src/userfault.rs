//! userfaultfd: the kernel's faults as messages.
//!
//! The installed headers may be older than the kernel, so the constants of the kernel's documented
//! ABI are repeated here.

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI32, Ordering};

use crate::descriptor::out_of_the_way;
use crate::error::{check, last_errno};
use crate::memory::{self, PAGE};
use crate::thread::wait_readable;
use crate::{OsError, Result};

/// Feature bits of `UFFDIO_API`.
pub mod feature {
    /// Write-protect faults on anonymous memory (5.7).
    pub const WRITE_PROTECT: u64 = 1;
    /// A fork hands out a descriptor for the child (4.11).
    pub const EVENT_FORK: u64 = 1 << 1;
    /// Messages carry the faulting thread (4.14).
    pub const THREAD_ID: u64 = 1 << 8;
    /// Messages carry the exact address (5.18).
    pub const EXACT_ADDRESS: u64 = 1 << 11;
    /// `UFFDIO_MOVE` (6.8).
    pub const MOVE: u64 = 1 << 16;
}

const UFFD_API: u64 = 0xAA;
const UFFDIO_API: u64 = 0xc018_aa3f;
const UFFDIO_REGISTER: u64 = 0xc020_aa00;
const UFFDIO_UNREGISTER: u64 = 0x8010_aa01;
const UFFDIO_WAKE: u64 = 0x8010_aa02;
const UFFDIO_COPY: u64 = 0xc028_aa03;
const UFFDIO_MOVE: u64 = 0xc028_aa05;
const UFFDIO_WRITEPROTECT: u64 = 0xc018_aa06;
/// `USERFAULTFD_IOC_NEW` on `/dev/userfaultfd`.
const USERFAULTFD_IOC_NEW: u64 = 0xaa00;

const COPY_DONTWAKE: u64 = 1;
const COPY_WP: u64 = 2;
const MOVE_DONTWAKE: u64 = 1;
const MOVE_ALLOW_SRC_HOLES: u64 = 2;
const REGISTER_MISSING: u64 = 1;
const REGISTER_WP: u64 = 2;

const EVENT_PAGEFAULT: u8 = 0x12;
const EVENT_FORK: u8 = 0x13;
const FLAG_WRITE: u64 = 1;
const FLAG_WP: u64 = 2;

#[repr(C)]
struct Api {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct Range {
    start: u64,
    len: u64,
}

#[repr(C)]
struct Register {
    range: Range,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
struct Transfer {
    dst: u64,
    src: u64,
    len: u64,
    mode: u64,
    done: i64,
}

#[repr(C)]
struct WriteProtect {
    range: Range,
    mode: u64,
}

/// One message as the kernel writes it.
#[repr(C)]
#[derive(Copy, Clone, Default)]
pub struct RawMessage {
    event: u8,
    reserved: [u8; 7],
    flags: u64,
    address: u64,
    thread: u32,
    padding: u32,
}

/// What happened.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A thread waits for the page at `address`.
    Fault {
        /// Faulting address (exact where the kernel says so).
        address: usize,
        /// Whether the access was a write.
        write: bool,
        /// Whether the page is present but write-protected.
        protected: bool,
        /// Thread that waits.
        thread: u32,
    },
    /// The process forked; the descriptor serves the child's copy of the registered ranges.
    Fork {
        /// The child's descriptor, owned by the reader of the message.
        child: RawFd,
    },
    /// An event nobody asked for.
    Other(u8),
}

impl RawMessage {
    /// The message's meaning.
    pub fn event(&self) -> Event {
        match self.event {
            EVENT_PAGEFAULT => Event::Fault {
                address: self.address as usize,
                write: self.flags & FLAG_WRITE != 0,
                protected: self.flags & FLAG_WP != 0,
                thread: self.thread,
            },
            // The fork event's only field lies where a fault has its flags.
            EVENT_FORK => Event::Fork { child: self.flags as u32 as RawFd },
            other => Event::Other(other),
        }
    }
}

/// How a transfer into the region ended when it did not cover all it was asked for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Partial {
    /// Bytes transferred before the obstacle.
    pub done: usize,
    /// The kernel's reason.
    pub errno: i32,
}

/// Whether the kernel has moved the frame behind `src` although it says that it could not.
///
/// Linux 6.18 says so of a page that is used while it is being moved: it has to try again, takes the second try for
/// failed as well although it succeeds, and finds the destination occupied at the third, by the very frame
/// (`move_pages()` in mm/userfaultfd.c, which keeps the error of the first try). Nothing is at the source then.
fn moved_unsaid(errno: i32, src: usize) -> bool {
    errno == libc::EEXIST && memory::is_present(src, PAGE, "a moved frame").is_ok_and(|is| !is)
}

/// A userfaultfd.
#[derive(Debug)]
pub struct Userfault {
    /// Owned; replaced in a forked child.
    fd: AtomicI32,
    features: u64,
    /// Whether [`wait_and_read`](Self::wait_and_read) may wait in the read itself.
    mode: AtomicI32,
}

/// Reads wait for a message; the descriptor cannot be polled.
const WAITS: i32 = 1;

/// Reads do not wait; the descriptor can be polled.
const POLLED: i32 = 0;

/// Like [`POLLED`], for good: this kernel cannot read without waiting from a descriptor that waits.
const ONLY_POLLED: i32 = -1;

impl Userfault {
    /// Opens a descriptor with all of `wanted`, in non-blocking mode, closed on exec.
    ///
    /// Tries the system call and then `/dev/userfaultfd`, so that either permission suffices.
    pub fn open(wanted: u64) -> Result<Self> {
        let fd = open_descriptor()?;
        let mut api = Api { api: UFFD_API, features: wanted, ioctls: 0 };
        ioctl(fd.as_raw_fd(), UFFDIO_API, &mut api, "UFFDIO_API", "userfaultfd")?;
        let uffd = Self::new(fd, wanted);
        // Finds out whether it can be read without waiting whatever its mode.
        uffd.read(&mut [RawMessage::default()])?;
        Ok(uffd)
    }

    /// The feature bits that this kernel offers to this user.
    pub fn offered_features() -> Result<u64> {
        let fd = open_descriptor()?;
        let mut api = Api { api: UFFD_API, features: 0, ioctls: 0 };
        ioctl(fd.as_raw_fd(), UFFDIO_API, &mut api, "UFFDIO_API", "userfaultfd")?;
        Ok(api.features)
    }

    /// Wraps a descriptor of another process, received with [`Event::Fork`] or passed on by that process: operations
    /// through it act there.
    pub fn of_other(fd: OwnedFd) -> Self {
        let uffd = Self::new(out_of_the_way(fd), 0);
        uffd.mode.store(ONLY_POLLED, Ordering::Relaxed);
        uffd
    }

    fn new(fd: OwnedFd, features: u64) -> Self {
        let fd = AtomicI32::new(fd.into_raw_fd());
        Self { fd, features, mode: AtomicI32::new(POLLED) }
    }

    /// In a forked child: goes on with the descriptor that serves the child, instead of the parent's.
    pub fn replace(&self, fd: OwnedFd) {
        let old = self.fd.swap(fd.into_raw_fd(), Ordering::AcqRel);
        // The kernel makes it as the first descriptor was opened.
        self.mode.fetch_min(POLLED, Ordering::AcqRel);
        // SAFETY: the descriptor was owned by this value and is not used again.
        drop(unsafe { OwnedFd::from_raw_fd(old) });
    }

    /// Gives the descriptor up, for passing it on.
    pub fn into_fd(self) -> OwnedFd {
        let fd = self.raw();
        std::mem::forget(self);
        // SAFETY: the descriptor was owned by the value that was just forgotten.
        unsafe { OwnedFd::from_raw_fd(fd) }
    }

    /// The features that were asked for at opening.
    pub fn features(&self) -> u64 {
        self.features
    }

    /// The raw descriptor, for polling and passing on.
    pub fn raw(&self) -> RawFd {
        self.fd.load(Ordering::Acquire)
    }

    /// The descriptor, for passing it on.
    pub fn lend(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is owned by this value, and closed with it, or in a forked child by the one thread
        // that there is.
        unsafe { BorrowedFd::borrow_raw(self.raw()) }
    }

    /// Registers a range for missing pages, and for writes to protected ones if `protect`.
    pub fn register(&self, addr: usize, len: usize, protect: bool) -> Result<()> {
        let mode = REGISTER_MISSING | if protect { REGISTER_WP } else { 0 };
        let mut arg = Register { range: range(addr, len), mode, ioctls: 0 };
        ioctl(self.raw(), UFFDIO_REGISTER, &mut arg, "UFFDIO_REGISTER", "the far region")
    }

    /// Takes a range out of registration.
    pub fn unregister(&self, addr: usize, len: usize) -> Result<()> {
        let mut arg = range(addr, len);
        ioctl(self.raw(), UFFDIO_UNREGISTER, &mut arg, "UFFDIO_UNREGISTER", "the far region")
    }

    /// Reads as many waiting messages as fit; none if there are none.
    pub fn read(&self, messages: &mut [RawMessage]) -> Result<usize> {
        if self.mode.load(Ordering::Acquire) == ONLY_POLLED {
            return self.read_as_it_is(messages);
        }
        let len = size_of_val(messages);
        let into = libc::iovec { iov_base: messages.as_mut_ptr().cast(), iov_len: len };
        // SAFETY: the vector describes a buffer that is valid for writes, and any bytes make a
        // RawMessage. There is no position (-1).
        let n = unsafe {
            let (fd, into) = (self.raw(), &raw const into);
            libc::syscall(libc::SYS_preadv2, fd, into, 1, -1i64, -1i64, libc::RWF_NOWAIT)
        };
        if n < 0 && last_errno() == libc::EOPNOTSUPP {
            self.mode.store(ONLY_POLLED, Ordering::Release);
            return self.read_as_it_is(messages);
        }
        Self::messages_read(n)
    }

    /// Waits for messages and reads as many as fit: in one system call where the kernel can, but then
    /// the wait ends with a message only. There may be none.
    ///
    /// For a thread that is alone in waiting: one that waits so cannot be told to leave it to others.
    pub fn wait_and_read(&self, messages: &mut [RawMessage]) -> Result<usize> {
        match self.mode.load(Ordering::Acquire) {
            WAITS => {}
            POLLED if self.set_nonblocking(false) => self.mode.store(WAITS, Ordering::Release),
            _ => {
                wait_readable(&[self.raw()], -1)?;
            }
        }
        let result = self.read_as_it_is(messages);
        if let Ok(0) = result {
            // Somebody else polls.
            self.mode.fetch_min(POLLED, Ordering::AcqRel);
        }
        result
    }

    /// Waits for a message for at most `timeout_ms`; -1 is for ever.
    pub fn wait(&self, timeout_ms: i32) -> Result<()> {
        if self.mode.load(Ordering::Acquire) == WAITS && self.set_nonblocking(true) {
            self.mode.fetch_min(POLLED, Ordering::AcqRel);
        }
        wait_readable(&[self.raw()], timeout_ms).map(drop)
    }

    fn set_nonblocking(&self, nonblocking: bool) -> bool {
        let flags = if nonblocking { libc::O_NONBLOCK } else { 0 };
        // SAFETY: plain system call on a descriptor of ours.
        let result = unsafe { libc::syscall(libc::SYS_fcntl, self.raw(), libc::F_SETFL, flags) };
        result == 0
    }

    fn read_as_it_is(&self, messages: &mut [RawMessage]) -> Result<usize> {
        // SAFETY: the buffer is valid for writes of its whole size, and any bytes make a RawMessage.
        let n = unsafe {
            libc::syscall(libc::SYS_read, self.raw(), messages.as_mut_ptr(), size_of_val(messages))
        };
        Self::messages_read(n)
    }

    fn messages_read(n: i64) -> Result<usize> {
        if n < 0 {
            let errno = last_errno();
            if errno == libc::EAGAIN || errno == libc::EINTR {
                return Ok(0);
            }
            return Err(OsError { call: "read", subject: "userfaultfd", errno });
        }
        Ok(n as usize / size_of::<RawMessage>())
    }

    /// Copies `len` bytes from `src` to absent pages at `dst`, optionally write-protected, and wakes
    /// the threads that wait there if `wake`.
    ///
    /// # Safety
    /// `src` must be readable for `len` bytes, and `dst` part of a range whose content the caller
    /// decides.
    pub unsafe fn copy(
        &self,
        dst: usize,
        src: usize,
        len: usize,
        protect: bool,
        wake: bool,
    ) -> std::result::Result<(), Partial> {
        let mode = if protect { COPY_WP } else { 0 } | if wake { 0 } else { COPY_DONTWAKE };
        self.transfer(UFFDIO_COPY, dst, src, len, mode)
    }

    /// Moves the frames behind `src` to absent pages at `dst`.
    ///
    /// # Safety
    /// Both ranges must belong to the caller, who gives up what `src` held.
    pub unsafe fn move_frames(
        &self,
        dst: usize,
        src: usize,
        len: usize,
        allow_holes: bool,
        wake: bool,
    ) -> std::result::Result<(), Partial> {
        let mode = if allow_holes { MOVE_ALLOW_SRC_HOLES } else { 0 }
            | if wake { 0 } else { MOVE_DONTWAKE };
        let mut done = 0;
        while done < len {
            let rest = self.transfer(UFFDIO_MOVE, dst + done, src + done, len - done, mode);
            let Err(partial) = rest else { break };
            done += partial.done;
            if !moved_unsaid(partial.errno, src + done) {
                return Err(Partial { done, ..partial });
            }
            if wake {
                // Nobody has said so, so nobody was woken.
                let _ = self.wake(dst + done, PAGE);
            }
            done += PAGE;
        }
        Ok(())
    }

    fn transfer(
        &self,
        request: u64,
        dst: usize,
        src: usize,
        len: usize,
        mode: u64,
    ) -> std::result::Result<(), Partial> {
        let mut done = 0;
        while done < len {
            let mut arg = Transfer {
                dst: (dst + done) as u64,
                src: (src + done) as u64,
                len: (len - done) as u64,
                mode,
                done: 0,
            };
            // SAFETY: `arg` is the structure this request takes; the ranges are the callers' (see the
            // safety sections of `copy` and `move_frames`).
            let result =
                unsafe { libc::syscall(libc::SYS_ioctl, self.raw(), request, &raw mut arg) };
            if result == 0 {
                return Ok(());
            }
            let errno = last_errno();
            // The kernel reports how far it came, or repeats the error there.
            if arg.done > 0 {
                done += arg.done as usize;
            } else if errno != libc::EAGAIN {
                return Err(Partial { done, errno });
            } else {
                // The layout is changing (a fork in progress): let the thread that reads events run.
                return Err(Partial { done, errno: libc::EAGAIN });
            }
        }
        Ok(())
    }

    /// Protects present pages against writes, or lifts that protection and wakes writers.
    pub fn write_protect(&self, addr: usize, len: usize, protect: bool) -> Result<()> {
        let mut arg = WriteProtect { range: range(addr, len), mode: u64::from(protect) };
        ioctl(self.raw(), UFFDIO_WRITEPROTECT, &mut arg, "UFFDIO_WRITEPROTECT", "the far region")
    }

    /// Wakes the threads that wait for pages of the range.
    pub fn wake(&self, addr: usize, len: usize) -> Result<()> {
        let mut arg = range(addr, len);
        ioctl(self.raw(), UFFDIO_WAKE, &mut arg, "UFFDIO_WAKE", "the far region")
    }
}

impl Drop for Userfault {
    fn drop(&mut self) {
        // SAFETY: the descriptor is owned by this value and not used again.
        drop(unsafe { OwnedFd::from_raw_fd(self.raw()) });
    }
}

fn range(addr: usize, len: usize) -> Range {
    Range { start: addr as u64, len: len as u64 }
}

fn open_descriptor() -> Result<OwnedFd> {
    let flags = libc::O_CLOEXEC | libc::O_NONBLOCK;
    // SAFETY: plain system call; on success the descriptor is ours alone.
    let fd = unsafe { libc::syscall(libc::SYS_userfaultfd, flags) };
    if fd >= 0 {
        // SAFETY: as above.
        return Ok(out_of_the_way(unsafe { OwnedFd::from_raw_fd(fd as i32) }));
    }
    let refused = OsError::last("userfaultfd", "this process");
    let path = c"/dev/userfaultfd";
    // SAFETY: the path is a valid C string.
    let device = unsafe {
        libc::syscall(
            libc::SYS_openat,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::O_RDWR | libc::O_CLOEXEC,
        )
    };
    if device < 0 {
        return Err(refused);
    }
    // SAFETY: a fresh descriptor nobody else owns.
    let device = unsafe { OwnedFd::from_raw_fd(device as i32) };
    // SAFETY: the request takes flags by value and returns a new descriptor.
    let fd =
        unsafe { libc::syscall(libc::SYS_ioctl, device.as_raw_fd(), USERFAULTFD_IOC_NEW, flags) };
    let fd = check(fd, "USERFAULTFD_IOC_NEW", "/dev/userfaultfd")?;
    // SAFETY: a fresh descriptor nobody else owns.
    Ok(out_of_the_way(unsafe { OwnedFd::from_raw_fd(fd as i32) }))
}

fn ioctl<T>(
    fd: RawFd,
    request: u64,
    arg: &mut T,
    call: &'static str,
    subject: &'static str,
) -> Result<()> {
    // SAFETY: every caller passes the structure that its request is defined to take.
    let result = unsafe { libc::syscall(libc::SYS_ioctl, fd, request, std::ptr::from_mut(arg)) };
    check(result, call, subject).map(drop)
}
