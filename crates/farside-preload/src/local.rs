//! The local range: one reservation that holds the allocator's own memory and the runtime heap, so
//! that the owner of a pointer follows from its address.

use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::sys::{self, PAGE, page_up};

/// Share of the range, from its start, that belongs to the runtime heap.
const RUNTIME_SHARE: usize = 16;
/// What belongs to it at least, in bytes: a policy takes some ten for each page that the machine has.
const RUNTIME_LEAST: usize = 1 << 29;
/// Sizes to try to reserve, in bytes: a limit on address space may forbid the larger ones.
const SIZES: [usize; 5] = [1 << 40, 1 << 38, 1 << 36, 1 << 34, LEAST];
const LEAST: usize = 1 << 31;
/// So many times as much address space must be free as is reserved, unless that is the least: most is for the far region.
const FREE: usize = 8;
/// The allocator's blocks of metadata and large extents are aligned to this, in bytes.
const BIG_ALIGN: usize = 2 << 20;

const UNRESERVED: usize = 0;
const RESERVING: usize = 1;

/// Start of the range, or one of the two markers above.
static START: AtomicUsize = AtomicUsize::new(UNRESERVED);
static LEN: AtomicUsize = AtomicUsize::new(0);
/// First address of the allocator's part that was never handed out.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Whether `addr` lies in the local range.
#[inline(always)]
pub fn contains(addr: usize) -> bool {
    addr.wrapping_sub(START.load(Relaxed)) < LEN.load(Relaxed)
}

/// Whether `addr`, which lies in the local range, belongs to the runtime heap.
#[inline]
pub fn is_runtime(addr: usize) -> bool {
    addr - START.load(Relaxed) < runtime_len(LEN.load(Relaxed))
}

/// Length of the runtime heap's part of a range; 0 when nothing could be reserved.
#[inline]
fn runtime_len(len: usize) -> usize {
    (len / RUNTIME_SHARE).max(RUNTIME_LEAST).min(len)
}

/// Start and length of the runtime heap's part; length 0 when nothing could be reserved.
pub fn runtime_part() -> (usize, usize) {
    reserve();
    (START.load(Relaxed), runtime_len(LEN.load(Relaxed)))
}

/// Reserves the range on the first call. Before the first thread is made there is nobody to wait for;
/// later callers find it done.
fn reserve() {
    while START.load(Acquire) <= RESERVING {
        if START.compare_exchange(UNRESERVED, RESERVING, AcqRel, Relaxed).is_err() {
            std::hint::spin_loop();
            continue;
        }
        for size in SIZES {
            if size > LEAST && !is_free(FREE * size) {
                continue;
            }
            // SAFETY: a new mapping takes nobody's memory.
            let mapped = unsafe {
                sys::mmap_anonymous(0, size + BIG_ALIGN, libc::PROT_NONE, libc::MAP_NORESERVE)
            };
            if let Ok(at) = mapped {
                let start = at.next_multiple_of(BIG_ALIGN);
                NEXT.store(start + runtime_len(size), Relaxed);
                LEN.store(size, Relaxed);
                START.store(start, Release);
                return;
            }
        }
        sys::complain(&[
            "farside: cannot reserve 2 GiB of address space for the allocator; raise `ulimit -v`\n",
        ]);
        // SAFETY: ends the process; there is no memory to go on with.
        unsafe { libc::_exit(125) };
    }
}

/// Whether there is so much address space to be had.
fn is_free(len: usize) -> bool {
    // SAFETY: a new mapping takes nobody's memory, and nobody knows of it when it is given back.
    unsafe {
        sys::mmap_anonymous(0, len, libc::PROT_NONE, libc::MAP_NORESERVE)
            .is_ok_and(|at| sys::munmap(at, len).is_ok())
    }
}

/// A fresh readable and writable part of the range, or `None` when the range or memory is used up.
fn take(len: usize) -> Option<usize> {
    reserve();
    let len = page_up(len)?;
    let end = START.load(Relaxed) + LEN.load(Relaxed);
    let align = if len >= BIG_ALIGN { BIG_ALIGN } else { PAGE };
    let mut next = NEXT.load(Relaxed);
    let at = loop {
        let at = next.next_multiple_of(align);
        let after = at.checked_add(len).filter(|after| *after <= end)?;
        match NEXT.compare_exchange_weak(next, after, Relaxed, Relaxed) {
            Ok(_) => break at,
            Err(now) => next = now,
        }
    };
    // SAFETY: the part was just taken out of the reservation for this caller.
    unsafe { sys::mprotect(at, len, libc::PROT_READ | libc::PROT_WRITE) }.ok()?;
    Some(at)
}

/// Stands for `mmap` in everything linked into this library. New anonymous memory comes from the local
/// range; all else goes to the kernel.
///
/// # Safety
/// As `mmap`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_mmap(
    addr: *mut c_void,
    len: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    let anonymous = flags & libc::MAP_ANONYMOUS != 0 && flags & libc::MAP_PRIVATE != 0;
    if anonymous && flags & libc::MAP_FIXED == 0 {
        return match take(len) {
            Some(at) if prot == libc::PROT_READ | libc::PROT_WRITE => at as *mut c_void,
            // SAFETY: the part is this caller's alone.
            Some(at) if unsafe { sys::mprotect(at, len, prot) }.is_ok() => at as *mut c_void,
            _ => libc::MAP_FAILED,
        };
    }
    // SAFETY: the caller's contract is that of `mmap`.
    match unsafe { sys::mmap(addr as usize, len, prot, flags, fd, offset) } {
        Ok(at) => at as *mut c_void,
        Err(_) => libc::MAP_FAILED,
    }
}

/// See [`__wrap_mmap`].
///
/// # Safety
/// As `mmap64`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_mmap64(
    addr: *mut c_void,
    len: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: libc::off64_t,
) -> *mut c_void {
    // SAFETY: the caller's contract is that of `mmap`.
    unsafe { __wrap_mmap(addr, len, prot, flags, fd, offset) }
}

/// Stands for `munmap` in everything linked into this library. A part of the local range gives its
/// memory back but stays reserved, so that no foreign pointer ever points into the range.
///
/// # Safety
/// As `munmap`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_munmap(addr: *mut c_void, len: usize) -> c_int {
    let result = if contains(addr as usize) {
        let flags = libc::MAP_FIXED | libc::MAP_NORESERVE;
        // SAFETY: the caller gives the range up.
        unsafe { sys::mmap_anonymous(addr as usize, len, libc::PROT_NONE, flags) }.map(drop)
    } else {
        // SAFETY: the caller gives the range up.
        unsafe { sys::munmap(addr as usize, len) }
    };
    if result.is_ok() { 0 } else { -1 }
}

/// Stands for `mprotect` in everything linked into this library.
///
/// # Safety
/// As `mprotect`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_mprotect(addr: *mut c_void, len: usize, prot: c_int) -> c_int {
    // SAFETY: the caller's contract is that of `mprotect`.
    if unsafe { sys::mprotect(addr as usize, len, prot) }.is_ok() { 0 } else { -1 }
}

/// Stands for `madvise` in everything linked into this library.
///
/// # Safety
/// As `madvise`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_madvise(addr: *mut c_void, len: usize, advice: c_int) -> c_int {
    // SAFETY: the caller's contract is that of `madvise`.
    if unsafe { sys::madvise(addr as usize, len, advice) }.is_ok() { 0 } else { -1 }
}

/// Stands for `sbrk` in everything linked into this library: the program's break is not ours to move.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_sbrk(_increment: isize) -> *mut c_void {
    -1isize as *mut c_void
}
