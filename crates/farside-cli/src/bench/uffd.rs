//! userfaultfd by bare system calls, as the yardstick: what one operation costs when nothing of
//! Farside is around it. Constants and layouts are those of the kernel's documented ABI.

use std::ffi::{c_int, c_ulong};
use std::io::{Error, Result};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;

/// Bytes in a page.
pub(crate) const PAGE: usize = 4096;

/// Faults are delivered as SIGBUS to the faulting thread.
pub(crate) const FEATURE_SIGBUS: u64 = 1 << 7;
/// Missing faults of shared memory.
pub(crate) const FEATURE_MISSING_SHMEM: u64 = 1 << 5;
/// Minor faults of shared memory.
pub(crate) const FEATURE_MINOR_SHMEM: u64 = 1 << 10;
/// Protection also of pages that are not there.
pub(crate) const FEATURE_WP_UNPOPULATED: u64 = 1 << 13;
/// The kernel lifts protection by itself.
pub(crate) const FEATURE_WP_ASYNC: u64 = 1 << 15;
/// Pages can be moved.
pub(crate) const FEATURE_MOVE: u64 = 1 << 16;

/// Register for faults on missing pages.
pub(crate) const MISSING: u64 = 1;
/// Register for write protection.
pub(crate) const PROTECT: u64 = 2;
/// Register for minor faults.
pub(crate) const MINOR: u64 = 4;

const API: c_ulong = 0xc018_aa3f;
const REGISTER: c_ulong = 0xc020_aa00;
const COPY: c_ulong = 0xc028_aa03;
const MOVE: c_ulong = 0xc028_aa05;
const WRITEPROTECT: c_ulong = 0xc018_aa06;
const CONTINUE: c_ulong = 0xc020_aa07;
const PAGEMAP_SCAN: c_ulong = 0xc060_6610;

/// Bytes of one message read from the descriptor.
pub(crate) const MESSAGE: usize = 32;

/// Anonymous or shared memory, unmapped when dropped.
pub(crate) struct Pages {
    start: NonNull<u8>,
    bytes: usize,
}

impl Pages {
    /// Private anonymous memory in small pages.
    pub fn anonymous(pages: usize) -> Result<Self> {
        Self::map(pages, libc::PROT_READ | libc::PROT_WRITE, None)
    }

    /// Private anonymous memory that may not be accessed yet.
    pub fn forbidden(pages: usize) -> Result<Self> {
        Self::map(pages, libc::PROT_NONE, None)
    }

    /// A shared mapping of a file in memory.
    pub fn shared(pages: usize, file: &OwnedFd) -> Result<Self> {
        Self::map(pages, libc::PROT_READ | libc::PROT_WRITE, Some(file))
    }

    fn map(pages: usize, protection: c_int, file: Option<&OwnedFd>) -> Result<Self> {
        let bytes = pages * PAGE;
        let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let (flags, fd) = file.map_or((private, -1), |fd| (libc::MAP_SHARED, fd.as_raw_fd()));
        // SAFETY: a new mapping at an address the kernel chooses.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, fd, 0) };
        if at == libc::MAP_FAILED {
            return Err(Error::last_os_error());
        }
        let start = NonNull::new(at.cast()).ok_or_else(Error::last_os_error)?;
        let pages = Self { start, bytes };
        // Refused by kernels without huge pages, where it is not needed.
        let _ = pages.advise(0, pages.len(), libc::MADV_NOHUGEPAGE);
        Ok(pages)
    }

    /// Number of pages.
    pub fn len(&self) -> usize {
        self.bytes / PAGE
    }

    /// Address of a page.
    pub fn at(&self, page: usize) -> usize {
        debug_assert!(page <= self.len());
        self.start.as_ptr() as usize + page * PAGE
    }

    /// Writes one byte of a page.
    pub fn write(&self, page: usize, value: u8) {
        assert!(page < self.len());
        // SAFETY: the page lies inside the mapping.
        unsafe { self.start.add(page * PAGE).write_volatile(value) };
    }

    /// Reads one byte of a page.
    pub fn read(&self, page: usize) -> u8 {
        assert!(page < self.len());
        // SAFETY: the page lies inside the mapping.
        unsafe { self.start.add(page * PAGE).read_volatile() }
    }

    /// Makes every page present with a value.
    pub fn fill(&self, value: u8) {
        // SAFETY: the whole mapping is ours and writable.
        unsafe { self.start.as_ptr().write_bytes(value, self.bytes) };
    }

    /// Copies one page of `from` over one of ours.
    pub fn copy_from(&self, page: usize, from: &Pages, source: usize) {
        assert!(page < self.len() && source < from.len());
        // SAFETY: both pages lie inside their mappings, which are different.
        unsafe {
            let to = self.start.add(page * PAGE);
            to.copy_from_nonoverlapping(from.start.add(source * PAGE), PAGE);
        }
    }

    /// The memory as words.
    pub fn words(&self) -> &[u64] {
        // SAFETY: mapped, aligned, and every bit pattern is a number.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), self.bytes / 8) }
    }

    /// `madvise` of some pages.
    pub fn advise(&self, page: usize, count: usize, advice: c_int) -> Result<()> {
        assert!(page + count <= self.len());
        let at = self.at(page) as *mut _;
        // SAFETY: the range is ours; the advice used here only drops contents or tunes.
        check(unsafe { libc::madvise(at, count * PAGE, advice) })
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing refers to it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// A userfaultfd descriptor.
pub(crate) struct Uffd(OwnedFd);

impl Uffd {
    /// A non-blocking descriptor with `features` switched on.
    pub fn new(features: u64) -> Result<Self> {
        let flags = libc::O_CLOEXEC | libc::O_NONBLOCK;
        // SAFETY: no memory is involved.
        let fd = unsafe { libc::syscall(libc::SYS_userfaultfd, flags) };
        if fd < 0 {
            return Err(Error::last_os_error());
        }
        // SAFETY: the kernel just gave us this descriptor.
        let uffd = Self(unsafe { OwnedFd::from_raw_fd(fd as RawFd) });
        control(uffd.fd(), API, &mut [0xaa, features, 0])?;
        Ok(uffd)
    }

    /// The descriptor's number.
    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Registers all of `pages`.
    pub fn register(&self, pages: &Pages, modes: u64) -> Result<()> {
        let range = [pages.at(0) as u64, pages.bytes as u64, modes, 0];
        control(self.fd(), REGISTER, &mut { range })
    }
}

/// Puts a copy of `count` pages at `from` to the missing pages at `to`, waking nobody if `quiet`.
///
/// Takes a bare descriptor because signal handlers call it.
pub(crate) fn copy(fd: RawFd, to: usize, from: usize, count: usize, quiet: bool) -> Result<()> {
    let words = [to as u64, from as u64, (count * PAGE) as u64, u64::from(quiet), 0];
    control(fd, COPY, &mut { words })
}

/// Moves `count` pages from `from` to the missing pages at `to`, waking nobody if `quiet`.
pub(crate) fn mv(fd: RawFd, to: usize, from: usize, count: usize, quiet: bool) -> Result<()> {
    let words = [to as u64, from as u64, (count * PAGE) as u64, u64::from(quiet), 0];
    control(fd, MOVE, &mut { words })
}

/// Maps `count` pages at `at` that the shared file already has.
pub(crate) fn resume(fd: RawFd, at: usize, count: usize, quiet: bool) -> Result<()> {
    control(fd, CONTINUE, &mut [at as u64, (count * PAGE) as u64, u64::from(quiet), 0])
}

/// Write-protects `count` pages at `at`.
pub(crate) fn protect(fd: RawFd, at: usize, count: usize) -> Result<()> {
    control(fd, WRITEPROTECT, &mut [at as u64, (count * PAGE) as u64, 1])
}

/// Scans `pages` for written pages, perhaps protecting them again; returns the number of runs found.
pub(crate) fn scan_written(pagemap: RawFd, pages: &Pages, protect: bool) -> Result<usize> {
    const WRITTEN: u64 = 2;
    let mut runs = vec![[0u64; 3]; pages.len()];
    let mut words = [
        96,
        u64::from(protect),
        pages.at(0) as u64,
        (pages.at(0) + pages.bytes) as u64,
        0,
        runs.as_mut_ptr() as u64,
        runs.len() as u64,
        0,
        0,
        WRITTEN,
        0,
        WRITTEN,
    ];
    // SAFETY: the argument has the size stated in its first word, and the vector the length in its
    // seventh.
    let found = unsafe { libc::ioctl(pagemap, PAGEMAP_SCAN, words.as_mut_ptr()) };
    if found < 0 { Err(Error::last_os_error()) } else { Ok(found as usize) }
}

/// One ioctl whose argument is an array of 64-bit words.
fn control<const N: usize>(fd: RawFd, request: c_ulong, words: &mut [u64; N]) -> Result<()> {
    // SAFETY: the request's size field matches the array for every constant above.
    check(unsafe { libc::ioctl(fd, request, words.as_mut_ptr()) })
}

/// Turns a result of -1 into the error number's message.
pub(crate) fn check(result: c_int) -> Result<()> {
    if result < 0 { Err(Error::last_os_error()) } else { Ok(()) }
}
