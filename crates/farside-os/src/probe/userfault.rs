//! `userfaultfd`: how it can be opened, and what it can do.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::memory::{PAGE, Scratch};

/// The device that grants userfaultfd by file permissions.
pub const DEVICE: &CStr = c"/dev/userfaultfd";

/// One feature bit of the userfaultfd interface.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// The bit.
    pub bit: u64,
    /// Its name in the kernel, without the prefix `UFFD_FEATURE_`.
    pub name: &'static str,
    /// What it allows.
    pub about: &'static str,
}

macro_rules! features {
    ($($bit:literal $name:literal $about:literal;)*) => {
        /// Every feature bit known to Linux 6.18, from the lowest.
        pub const FEATURES: &[Feature] =
            &[$(Feature { bit: 1 << $bit, name: $name, about: $about }),*];
    };
}

features! {
    0 "PAGEFAULT_FLAG_WP" "write faults on protected pages";
    1 "EVENT_FORK" "forked children keep their far pages";
    2 "EVENT_REMAP" "notice of mremap";
    3 "EVENT_REMOVE" "notice of madvise";
    4 "MISSING_HUGETLBFS" "missing pages of hugetlbfs";
    5 "MISSING_SHMEM" "missing pages of shared memory";
    6 "EVENT_UNMAP" "notice of munmap";
    7 "SIGBUS" "faults as signals";
    8 "THREAD_ID" "which thread faulted";
    9 "MINOR_HUGETLBFS" "unmapped pages of hugetlbfs";
    10 "MINOR_SHMEM" "unmapped pages of shared memory";
    11 "EXACT_ADDRESS" "the address within the page";
    12 "WP_HUGETLBFS_SHMEM" "protection of shared memory";
    13 "WP_UNPOPULATED" "protection of pages that are not there";
    14 "POISON" "pages that report a loss";
    15 "WP_ASYNC" "written pages noted without a fault";
    16 "MOVE" "pages moved without a copy";
}

/// How userfaultfd was opened.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// By the system call, with faults inside the kernel included.
    SystemCall,
    /// By `/dev/userfaultfd`, with faults inside the kernel included.
    Device,
}

/// Why userfaultfd could not be opened.
#[derive(Debug)]
pub struct OpenFailure {
    /// What the system call said.
    pub system_call: io::Error,
    /// What opening the device, or asking it for a descriptor, said.
    pub device: io::Error,
    /// Whether the system call works when restricted to faults of user code.
    pub user_mode_only: bool,
}

/// An opened userfaultfd.
#[derive(Debug)]
pub struct Userfault {
    /// How it was opened.
    pub route: Route,
    /// Bits of the features that the kernel offers.
    pub features: u64,
}

impl Userfault {
    /// Whether the feature of that name is offered.
    pub fn has(&self, name: &str) -> bool {
        FEATURES.iter().any(|feature| feature.name == name && self.features & feature.bit != 0)
    }
}

const UFFD_API: u64 = 0xaa;
const USER_MODE_ONLY: i32 = 1;
const MODE_MISSING: u64 = 1;
const MODE_WP: u64 = 2;
const WRITEPROTECT_WP: u64 = 1;

const fn iowr(number: u32, size: usize) -> libc::c_ulong {
    (3 << 30 | (size as u32) << 16 | 0xaa << 8 | number) as libc::c_ulong
}

const IOC_NEW: libc::c_ulong = 0xaa00;
const IOC_API: libc::c_ulong = iowr(0x3f, size_of::<Api>());
const IOC_REGISTER: libc::c_ulong = iowr(0x00, size_of::<Register>());
const IOC_COPY: libc::c_ulong = iowr(0x03, size_of::<Transfer>());
const IOC_MOVE: libc::c_ulong = iowr(0x05, size_of::<Transfer>());
const IOC_WRITEPROTECT: libc::c_ulong = iowr(0x06, size_of::<WriteProtect>());

#[repr(C)]
struct Api {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct Register {
    start: u64,
    len: u64,
    mode: u64,
    ioctls: u64,
}

/// `struct uffdio_copy` and `struct uffdio_move`, which have the same fields.
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
    start: u64,
    len: u64,
    mode: u64,
}

/// Opens a userfaultfd that serves faults inside the kernel too, close-on-exec and non-blocking; the
/// handshake about features is still to be made.
pub fn open() -> Result<(OwnedFd, Route), OpenFailure> {
    let system_call = match system_call(0) {
        Ok(fd) => return Ok((fd, Route::SystemCall)),
        Err(error) => error,
    };
    let device = match device() {
        Ok(fd) => return Ok((fd, Route::Device)),
        Err(error) => error,
    };
    let user_mode_only = self::system_call(USER_MODE_ONLY).is_ok();
    Err(OpenFailure { system_call, device, user_mode_only })
}

/// Opens a userfaultfd and asks which features it offers.
pub fn userfault() -> Result<Userfault, OpenFailure> {
    let (fd, route) = open()?;
    let features = handshake(&fd, 0).map_err(|error| OpenFailure {
        device: io::Error::from_raw_os_error(error.raw_os_error().unwrap_or(libc::EINVAL)),
        system_call: error,
        user_mode_only: false,
    })?;
    Ok(Userfault { route, features })
}

/// Tries to be told of forks, which needs `CAP_SYS_PTRACE` besides the feature.
pub fn fork_events() -> io::Result<()> {
    let (fd, _) = opened()?;
    handshake(&fd, feature("EVENT_FORK")).map(drop)
}

/// Tries `UFFDIO_MOVE` of one page between two scratch mappings.
pub fn move_pages() -> io::Result<()> {
    let (fd, _) = opened()?;
    handshake(&fd, feature("MOVE"))?;
    let (from, to) = (Scratch::new(1)?, Scratch::new(1)?);
    from.write(0, 0x5a);
    register(&fd, &to, MODE_MISSING)?;
    transfer(&fd, IOC_MOVE, &from, &to)?;
    match to.read(0) {
        0x5a => Ok(()),
        _ => Err(io::Error::other("the moved page lost its contents")),
    }
}

/// Tries `UFFDIO_COPY` into a range registered for missing pages and protection, and to protect and
/// release the copied page.
pub fn copy_and_protect() -> io::Result<()> {
    let (fd, _) = opened()?;
    handshake(&fd, feature("PAGEFAULT_FLAG_WP"))?;
    let (from, to) = (Scratch::new(1)?, Scratch::new(1)?);
    from.write(0, 0xa5);
    register(&fd, &to, MODE_MISSING | MODE_WP)?;
    transfer(&fd, IOC_COPY, &from, &to)?;
    for mode in [WRITEPROTECT_WP, 0] {
        let mut range = WriteProtect { start: to.address(), len: PAGE as u64, mode };
        ioctl(&fd, IOC_WRITEPROTECT, &mut range)?;
    }
    to.write(1, 1);
    match to.read(0) {
        0xa5 => Ok(()),
        _ => Err(io::Error::other("the copied page lost its contents")),
    }
}

fn feature(name: &str) -> u64 {
    FEATURES.iter().find(|feature| feature.name == name).map_or(0, |feature| feature.bit)
}

fn opened() -> io::Result<(OwnedFd, Route)> {
    open().map_err(|failure| failure.system_call)
}

fn system_call(mode: i32) -> io::Result<OwnedFd> {
    let flags = libc::O_CLOEXEC | libc::O_NONBLOCK | mode;
    // SAFETY: takes no pointers.
    owned(unsafe { libc::syscall(libc::SYS_userfaultfd, flags) } as RawFd)
}

fn device() -> io::Result<OwnedFd> {
    // SAFETY: the path ends with a zero byte.
    let device = owned(unsafe { libc::open(DEVICE.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) })?;
    // SAFETY: this request takes flags, no pointer.
    owned(unsafe { libc::ioctl(device.as_raw_fd(), IOC_NEW, libc::O_CLOEXEC | libc::O_NONBLOCK) })
}

fn owned(fd: RawFd) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just made this descriptor for us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Agrees on `features` and returns all that the kernel offers.
fn handshake(fd: &OwnedFd, features: u64) -> io::Result<u64> {
    let mut api = Api { api: UFFD_API, features, ioctls: 0 };
    ioctl(fd, IOC_API, &mut api)?;
    Ok(api.features)
}

fn register(fd: &OwnedFd, range: &Scratch, mode: u64) -> io::Result<()> {
    let mut register =
        Register { start: range.address(), len: range.len() as u64, mode, ioctls: 0 };
    ioctl(fd, IOC_REGISTER, &mut register)
}

fn transfer(fd: &OwnedFd, request: libc::c_ulong, from: &Scratch, to: &Scratch) -> io::Result<()> {
    let (dst, src) = (to.address(), from.address());
    let mut transfer = Transfer { dst, src, len: PAGE as u64, mode: 0, done: 0 };
    ioctl(fd, request, &mut transfer)
}

fn ioctl<T>(fd: &OwnedFd, request: libc::c_ulong, argument: &mut T) -> io::Result<()> {
    // SAFETY: every request above encodes the size of the structure it is called with, and that
    // structure lives until the call returns. Ranges named in it are scratch mappings of ours.
    if unsafe { libc::ioctl(fd.as_raw_fd(), request, argument) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
