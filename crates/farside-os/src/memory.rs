//! Address space: reserving, populating, dropping and protecting ranges; anonymous files.

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::descriptor::out_of_the_way;
use crate::error::check;
use crate::{OsError, Result};

/// Bytes in a page.
pub const PAGE: usize = 4096;

/// `MADV_POPULATE_WRITE`, Linux 5.14.
const MADV_POPULATE_WRITE: i32 = 23;

/// Pages of memory that this machine has.
pub fn physical_pages() -> u64 {
    // SAFETY: takes no pointers.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    u64::try_from(pages).unwrap_or(u64::MAX)
}

/// Bytes of memory that programs can get without swapping, as the kernel estimates, if it says.
pub fn available_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

fn raw_mmap(
    addr: usize,
    len: usize,
    prot: i32,
    flags: i32,
    fd: i32,
    subject: &'static str,
) -> Result<usize> {
    // SAFETY: callers pass either no address hint or a range they own; a new mapping touches no
    // existing Rust object.
    let result = unsafe { libc::syscall(libc::SYS_mmap, addr, len, prot, flags, fd, 0usize) };
    check(result, "mmap", subject).map(|address| address as usize)
}

/// Reserves `len` bytes of zero-on-demand private memory, aligned to `align` (a power of two), without
/// committing any, and with 4 KiB pages only.
pub fn reserve(len: usize, align: usize, subject: &'static str) -> Result<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let slack = if align > PAGE { align } else { 0 };
    let whole = raw_mmap(0, len + slack, libc::PROT_READ | libc::PROT_WRITE, flags, -1, subject)?;
    let start = whole.next_multiple_of(align.max(PAGE));
    if start > whole {
        unmap(whole, start - whole, subject)?;
    }
    let tail = (whole + len + slack) - (start + len);
    if tail > 0 {
        unmap(start + len, tail, subject)?;
    }
    advise(start, len, libc::MADV_NOHUGEPAGE, subject).or_else(|error| {
        // A kernel without transparent huge pages does not know the advice and needs none.
        if error.errno == libc::EINVAL { Ok(()) } else { Err(error) }
    })?;
    Ok(start)
}

/// Maps fresh private memory over a range the caller owns.
pub fn remap_fresh(addr: usize, len: usize, prot: i32, subject: &'static str) -> Result<()> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    raw_mmap(addr, len, prot, flags, -1, subject)?;
    advise(addr, len, libc::MADV_NOHUGEPAGE, subject)
        .or_else(|error| if error.errno == libc::EINVAL { Ok(()) } else { Err(error) })
}

/// Maps `len` bytes of `file` shared and writable.
pub fn map_shared(file: BorrowedFd<'_>, len: usize, subject: &'static str) -> Result<usize> {
    raw_mmap(
        0,
        len,
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_SHARED | libc::MAP_NORESERVE,
        file.as_raw_fd(),
        subject,
    )
}

/// Maps `len` bytes of `file` from `offset` on at an address the caller owns, to be read only.
pub fn map_to_read(addr: usize, file: BorrowedFd<'_>, offset: u64, len: usize) -> Result<()> {
    let flags = libc::MAP_SHARED | libc::MAP_FIXED | libc::MAP_NORESERVE;
    let (fd, subject) = (file.as_raw_fd(), "pages that are read where they are");
    // SAFETY: the caller owns the address range, and nothing of its old content is used any more.
    let result = unsafe {
        libc::syscall(libc::SYS_mmap, addr, len, libc::PROT_READ, flags, fd, offset as usize)
    };
    check(result, "mmap", subject).map(drop)
}

/// Moves a mapping the caller owns over another of the same length that the caller owns.
pub fn move_mapping(from: usize, to: usize, len: usize) -> Result<()> {
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: both mappings are the caller's; references into the target stay valid, as there is a
    // mapping of the same kind there before and after.
    let result = unsafe { libc::syscall(libc::SYS_mremap, from, len, len, flags, to) };
    check(result, "mremap", "a shared mapping").map(drop)
}

/// Unmaps a range the caller owns.
pub fn unmap(addr: usize, len: usize, subject: &'static str) -> Result<()> {
    // SAFETY: the caller owns the range and keeps no reference into it.
    check(unsafe { libc::syscall(libc::SYS_munmap, addr, len) }, "munmap", subject).map(drop)
}

/// `madvise` on a range the caller owns.
pub fn advise(addr: usize, len: usize, advice: i32, subject: &'static str) -> Result<()> {
    // SAFETY: the caller owns the range; advice that drops content is the caller's decision.
    check(unsafe { libc::syscall(libc::SYS_madvise, addr, len, advice) }, "madvise", subject)
        .map(drop)
}

/// Changes the protection of a range the caller owns.
pub fn protect(addr: usize, len: usize, prot: i32, subject: &'static str) -> Result<()> {
    // SAFETY: the caller owns the range and decides who may access it.
    check(unsafe { libc::syscall(libc::SYS_mprotect, addr, len, prot) }, "mprotect", subject)
        .map(drop)
}

/// Gives every page of the range a frame of its own, as a write to each would.
pub fn populate(addr: usize, len: usize, subject: &'static str) -> Result<()> {
    loop {
        match advise(addr, len, MADV_POPULATE_WRITE, subject) {
            Err(error) if error.errno == libc::EINTR || error.errno == libc::EAGAIN => {}
            other => return other,
        }
    }
}

/// Has the processor load the cache line of `place` while the program goes on.
#[inline]
pub fn prefetch<T>(place: &T) {
    prefetch_at(std::ptr::from_ref(place) as usize);
}

/// The same for an address at which there may be nothing.
#[inline]
pub fn prefetch_at(address: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing that could be seen, faults nowhere, and every x86-64 processor has it.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address as *const i8);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Whether every page of the range has a frame.
///
/// At most 64 pages can be asked for at once.
pub fn is_present(addr: usize, len: usize, subject: &'static str) -> Result<bool> {
    let mut present = [0u8; 64];
    let pages = len.div_ceil(PAGE);
    if pages > present.len() {
        return Err(OsError { call: "mincore", subject, errno: libc::EINVAL });
    }
    // SAFETY: the vector has a byte for each page of the range.
    let result = unsafe { libc::syscall(libc::SYS_mincore, addr, len, present.as_mut_ptr()) };
    check(result, "mincore", subject)?;
    Ok(present[..pages].iter().all(|byte| byte & 1 == 1))
}

/// Gives the frames of the range back to the kernel; the next access finds zeros or a fault.
pub fn drop_range(addr: usize, len: usize, subject: &'static str) -> Result<()> {
    advise(addr, len, libc::MADV_DONTNEED, subject)
}

/// An anonymous file in memory, closed on exec.
pub fn anonymous_file(name: &std::ffi::CStr, len: u64) -> Result<OwnedFd> {
    // SAFETY: the name is a valid C string; the returned descriptor is ours alone.
    let fd = unsafe { libc::syscall(libc::SYS_memfd_create, name.as_ptr(), libc::MFD_CLOEXEC) };
    let fd = check(fd, "memfd_create", "shared memory")?;
    // SAFETY: as above, a fresh descriptor nobody else owns.
    let file = out_of_the_way(unsafe { OwnedFd::from_raw_fd(fd as i32) });
    // SAFETY: plain system call on a descriptor we own.
    let result = unsafe { libc::ftruncate(file.as_raw_fd(), len as libc::off_t) };
    check(i64::from(result), "ftruncate", "shared memory")?;
    Ok(file)
}

/// As [`anonymous_file`], and of this size for ever: whoever it is shared with cannot cut off what another
/// maps.
pub fn sealed_file(name: &std::ffi::CStr, len: u64) -> Result<OwnedFd> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name is a valid C string; the returned descriptor is ours alone.
    let fd = unsafe { libc::syscall(libc::SYS_memfd_create, name.as_ptr(), flags) };
    let fd = check(fd, "memfd_create", "shared memory")?;
    // SAFETY: as above, a fresh descriptor nobody else owns.
    let file = out_of_the_way(unsafe { OwnedFd::from_raw_fd(fd as i32) });
    // SAFETY: plain system calls on a descriptor we own.
    let (sized, sealed) = unsafe {
        let sized = libc::ftruncate(file.as_raw_fd(), len as libc::off_t);
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        (sized, libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals))
    };
    check(i64::from(sized), "ftruncate", "shared memory")?;
    check(i64::from(sealed), "fcntl", "shared memory")?;
    Ok(file)
}

/// Length of a file in bytes.
pub fn file_len(file: BorrowedFd<'_>) -> Result<u64> {
    // SAFETY: a zeroed structure is valid, and the call fills it for a descriptor that is open.
    let (result, len) = unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        (libc::fstat(file.as_raw_fd(), &raw mut stat), stat.st_size)
    };
    check(i64::from(result), "fstat", "shared memory")?;
    Ok(u64::try_from(len).unwrap_or(0))
}

/// Reads exactly `buf.len()` bytes at `offset` of `file`.
pub fn read_at(
    file: BorrowedFd<'_>,
    offset: u64,
    buf: &mut [u8],
    subject: &'static str,
) -> Result<()> {
    let mut done = 0;
    while done < buf.len() {
        // SAFETY: the pointer and length describe the rest of `buf`, which we may write.
        let n = unsafe {
            libc::syscall(
                libc::SYS_pread64,
                file.as_raw_fd(),
                buf.as_mut_ptr().add(done),
                buf.len() - done,
                offset + done as u64,
            )
        };
        match n {
            -1 if crate::error::last_errno() == libc::EINTR => {}
            -1 => return Err(OsError::last("pread", subject)),
            0 => return Err(OsError { call: "pread", subject, errno: libc::ENODATA }),
            n => done += n as usize,
        }
    }
    Ok(())
}

/// Reads the memory of process `pid` at `addr`; a part that cannot be read is an error.
pub fn read_other(pid: u32, addr: usize, into: &mut [u8]) -> Result<()> {
    // SAFETY: the slice may be written.
    unsafe { copy_other(pid, addr, into.as_mut_ptr() as usize, into.len()) }
}

/// As [`read_other`], to the `len` bytes at `into`, be there memory or not.
///
/// # Safety
/// What is there must be the caller's to overwrite, without any reference to it.
pub unsafe fn copy_other(pid: u32, addr: usize, into: usize, len: usize) -> Result<()> {
    const SUBJECT: &str = "another process";
    let local = libc::iovec { iov_base: into as *mut libc::c_void, iov_len: len };
    let remote = libc::iovec { iov_base: addr as *mut libc::c_void, iov_len: len };
    let (local, remote) = (&raw const local, &raw const remote);
    // SAFETY: the caller vouches for the local vector; the remote one is the kernel's to check.
    let n = unsafe {
        libc::syscall(libc::SYS_process_vm_readv, pid as i64, local, 1usize, remote, 1usize, 0usize)
    };
    match usize::try_from(n) {
        Err(_) => Err(OsError::last("process_vm_readv", SUBJECT)),
        Ok(n) if n == len => Ok(()),
        Ok(_) => Err(OsError { call: "process_vm_readv", subject: SUBJECT, errno: libc::EFAULT }),
    }
}

/// Writes all of `buf` at `offset` of `file`.
pub fn write_at(
    file: BorrowedFd<'_>,
    offset: u64,
    buf: &[u8],
    subject: &'static str,
) -> Result<()> {
    let mut done = 0;
    while done < buf.len() {
        // SAFETY: the pointer and length describe the rest of `buf`, which stays borrowed.
        let n = unsafe {
            libc::syscall(
                libc::SYS_pwrite64,
                file.as_raw_fd(),
                buf.as_ptr().add(done),
                buf.len() - done,
                offset + done as u64,
            )
        };
        match n {
            -1 if crate::error::last_errno() == libc::EINTR => {}
            -1 => return Err(OsError::last("pwrite", subject)),
            n => done += n as usize,
        }
    }
    Ok(())
}

/// Gives back the memory behind a range of an anonymous file; it reads as zeros afterwards.
pub fn punch_hole(
    file: BorrowedFd<'_>,
    offset: u64,
    len: u64,
    subject: &'static str,
) -> Result<()> {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: plain system call on a descriptor we were lent.
    let result = unsafe { libc::syscall(libc::SYS_fallocate, file.as_raw_fd(), mode, offset, len) };
    check(result, "fallocate", subject).map(drop)
}
