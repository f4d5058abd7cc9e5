//! Trials on scratch memory: vectored drops, page scans, memory files.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

/// The page size Farside is built for.
pub(super) const PAGE: usize = 4096;

/// Private anonymous memory that is unmapped when dropped.
pub(super) struct Scratch {
    start: *mut u8,
    len: usize,
}

impl Scratch {
    pub(super) fn new(pages: usize) -> io::Result<Self> {
        let len = pages * PAGE;
        // SAFETY: asks for fresh memory wherever there is room.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let scratch = Self { start: start.cast(), len };
        // A huge page would be populated, moved and dropped as a whole. Without support for them
        // there is nothing to turn off.
        // SAFETY: the range was mapped above.
        unsafe { libc::madvise(start, len, libc::MADV_NOHUGEPAGE) };
        Ok(scratch)
    }

    pub(super) fn address(&self) -> u64 {
        self.start as u64
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn write(&self, offset: usize, value: u8) {
        assert!(offset < self.len);
        // SAFETY: within the mapping, which is readable, writable and ours.
        unsafe { self.start.add(offset).write_volatile(value) }
    }

    pub(super) fn read(&self, offset: usize) -> u8 {
        assert!(offset < self.len);
        // SAFETY: as for `write`.
        unsafe { self.start.add(offset).read_volatile() }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length and not used any more.
        unsafe { libc::munmap(self.start.cast(), self.len) };
    }
}

/// Bytes per page of this machine.
pub fn page_size() -> usize {
    // SAFETY: takes no pointers.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(0)
}

/// Tries to make a memory file.
pub fn memfd() -> io::Result<()> {
    // SAFETY: the name ends with a zero byte.
    let fd = unsafe { libc::memfd_create(c"farside-probe".as_ptr(), libc::MFD_CLOEXEC) };
    owned(fd).map(drop)
}

/// Tries to make a memory file of huge pages.
pub fn huge_file() -> io::Result<()> {
    crate::huge_file::huge_file(PAGE as u64)
        .map(drop)
        .map_err(|error| io::Error::from_raw_os_error(error.errno))
}

/// Tries to get a descriptor of this process.
pub fn pidfd() -> io::Result<()> {
    // SAFETY: takes no pointers.
    owned(unsafe { libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0) } as RawFd).map(drop)
}

/// `PIDFD_SELF_THREAD_GROUP`: the calling process without a descriptor (Linux 6.14).
const PIDFD_SELF: i32 = -10001;

/// Tries `process_madvise(MADV_DONTNEED)` on two separate pages of this process.
pub fn process_madvise() -> io::Result<()> {
    let scratch = Scratch::new(3)?;
    for page in 0..3 {
        scratch.write(page * PAGE, 1);
    }
    let page = |n: u64| libc::iovec {
        iov_base: (scratch.address() + n * PAGE as u64) as *mut _,
        iov_len: PAGE,
    };
    let vector = [page(0), page(2)];
    // SAFETY: the vector names pages of a scratch mapping of ours.
    let dropped = unsafe {
        libc::syscall(
            libc::SYS_process_madvise,
            PIDFD_SELF,
            vector.as_ptr(),
            vector.len(),
            libc::MADV_DONTNEED,
            0,
        )
    };
    if dropped < 0 {
        return Err(io::Error::last_os_error());
    }
    match [0, PAGE, 2 * PAGE].map(|offset| scratch.read(offset)) {
        [0, 1, 0] => Ok(()),
        _ => Err(io::Error::other("it dropped other pages than it was asked to")),
    }
}

/// `struct pm_scan_arg` of the kernel's `PAGEMAP_SCAN`.
#[repr(C)]
struct ScanArgument {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vector: u64,
    vector_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

#[repr(C)]
#[derive(Copy, Clone, Default, PartialEq)]
struct ScanRegion {
    start: u64,
    end: u64,
    categories: u64,
}

const PAGEMAP_SCAN: libc::c_ulong =
    (3 << 30 | (size_of::<ScanArgument>() as u32) << 16 | (b'f' as u32) << 8 | 16) as libc::c_ulong;
const PAGE_IS_PRESENT: u64 = 1 << 3;

/// Tries `PAGEMAP_SCAN` for the one present page among three.
pub fn pagemap_scan() -> io::Result<()> {
    let pagemap = std::fs::File::open("/proc/self/pagemap")?;
    let scratch = Scratch::new(3)?;
    scratch.write(PAGE, 1);
    let mut regions = [ScanRegion::default(); 3];
    let mut argument = ScanArgument {
        size: size_of::<ScanArgument>() as u64,
        flags: 0,
        start: scratch.address(),
        end: scratch.address() + scratch.len() as u64,
        walk_end: 0,
        vector: regions.as_mut_ptr() as u64,
        vector_len: regions.len() as u64,
        max_pages: 0,
        category_inverted: 0,
        category_mask: PAGE_IS_PRESENT,
        category_anyof_mask: 0,
        return_mask: PAGE_IS_PRESENT,
    };
    // SAFETY: the argument has the size it states; its vector has room for what it states.
    let found = unsafe { libc::ioctl(pagemap.as_raw_fd(), PAGEMAP_SCAN, &raw mut argument) };
    if found < 0 {
        return Err(io::Error::last_os_error());
    }
    let start = scratch.address() + PAGE as u64;
    let expected = ScanRegion { start, end: start + PAGE as u64, categories: PAGE_IS_PRESENT };
    if found == 1 && regions[0] == expected {
        Ok(())
    } else {
        Err(io::Error::other("it found other pages than the one that was written"))
    }
}

fn owned(fd: RawFd) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just made this descriptor for us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
