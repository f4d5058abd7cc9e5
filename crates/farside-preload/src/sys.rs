//! System calls made directly, never through a name this library interposes, and without a trace in
//! `errno`.

use std::ffi::c_int;

/// Bytes per page of the address space.
pub const PAGE: usize = 4096;

/// Rounds up to whole pages; `None` on overflow.
pub fn page_up(len: usize) -> Option<usize> {
    Some(len.checked_add(PAGE - 1)? & !(PAGE - 1))
}

/// The calling thread's `errno`.
pub fn errno() -> c_int {
    // SAFETY: the location is the calling thread's own.
    unsafe { *libc::__errno_location() }
}

/// Sets the calling thread's `errno`.
pub fn set_errno(value: c_int) {
    // SAFETY: the location is the calling thread's own.
    unsafe { *libc::__errno_location() = value }
}

fn call(number: libc::c_long, args: [usize; 6]) -> Result<usize, c_int> {
    let saved = errno();
    let [a, b, c, d, e, f] = args;
    // SAFETY: the callers below pass what the system call documents; what it does to the address
    // space is their contract.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    if result == -1 {
        let error = errno();
        set_errno(saved);
        return Err(error);
    }
    Ok(result as usize)
}

/// `mmap`; the error is an `errno` value, as in all functions here.
///
/// # Safety
/// With `MAP_FIXED`, nothing that is still in use may lie in the range.
pub unsafe fn mmap(
    addr: usize,
    len: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: libc::off_t,
) -> Result<usize, c_int> {
    call(
        libc::SYS_mmap,
        [addr, len, prot as usize, flags as usize, fd as isize as usize, offset as usize],
    )
}

/// Anonymous private memory at an address of the kernel's choice or, with `MAP_FIXED` in `flags`, at
/// `addr`.
///
/// # Safety
/// As [`mmap`].
pub unsafe fn mmap_anonymous(
    addr: usize,
    len: usize,
    prot: c_int,
    flags: c_int,
) -> Result<usize, c_int> {
    // SAFETY: the caller's contract is the same.
    unsafe { mmap(addr, len, prot, flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0) }
}

/// `munmap`.
///
/// # Safety
/// Nothing that is still in use may lie in the range.
pub unsafe fn munmap(addr: usize, len: usize) -> Result<(), c_int> {
    call(libc::SYS_munmap, [addr, len, 0, 0, 0, 0]).map(drop)
}

/// `mprotect`.
///
/// # Safety
/// Nobody may rely on an access that `prot` takes away.
pub unsafe fn mprotect(addr: usize, len: usize, prot: c_int) -> Result<(), c_int> {
    call(libc::SYS_mprotect, [addr, len, prot as usize, 0, 0, 0]).map(drop)
}

/// `madvise`.
///
/// # Safety
/// Nobody may rely on content that `advice` drops.
pub unsafe fn madvise(addr: usize, len: usize, advice: c_int) -> Result<(), c_int> {
    call(libc::SYS_madvise, [addr, len, advice as usize, 0, 0, 0]).map(drop)
}

/// `mremap`.
///
/// # Safety
/// As [`munmap`] for what moves away or is covered.
pub unsafe fn mremap(
    addr: usize,
    old_len: usize,
    new_len: usize,
    flags: c_int,
    new_addr: usize,
) -> Result<usize, c_int> {
    call(libc::SYS_mremap, [addr, old_len, new_len, flags as usize, new_addr, 0])
}

/// `dup3`.
pub fn dup3(old: c_int, new: c_int, flags: c_int) -> Result<c_int, c_int> {
    let number = |number: c_int| number as isize as usize;
    call(libc::SYS_dup3, [number(old), number(new), flags as usize, 0, 0, 0])
        .map(|new| new as c_int)
}

/// `close_range`.
pub fn close_range(first: u32, last: u32, flags: c_int) -> Result<(), c_int> {
    call(libc::SYS_close_range, [first as usize, last as usize, flags as usize, 0, 0, 0]).map(drop)
}

/// Sleeps while `*word == expected`, or until a wake-up; may return early.
pub fn futex_wait(word: &std::sync::atomic::AtomicU32, expected: u32) {
    let op = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // An error means that the value changed or a signal came: the caller looks again either way.
    let _ =
        call(libc::SYS_futex, [word.as_ptr() as usize, op as usize, expected as usize, 0, 0, 0]);
}

/// Wakes up to `count` sleepers on `word`.
pub fn futex_wake(word: &std::sync::atomic::AtomicU32, count: u32) {
    let op = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // The only possible errors are about the address, which is valid.
    let _ = call(libc::SYS_futex, [word.as_ptr() as usize, op as usize, count as usize, 0, 0, 0]);
}

/// A set of signals in the kernel's own format.
pub type KernelSignals = u64;

/// Replaces the calling thread's set of blocked signals and returns the one before.
pub fn set_signal_mask(mask: KernelSignals) -> KernelSignals {
    let mut before: KernelSignals = 0;
    let result = call(
        libc::SYS_rt_sigprocmask,
        [
            libc::SIG_SETMASK as usize,
            &raw const mask as usize,
            &raw mut before as usize,
            size_of::<KernelSignals>(),
            0,
            0,
        ],
    );
    debug_assert!(result.is_ok());
    before
}

/// Writes `parts` to standard error as they are, without a buffer and without allocating.
pub fn complain(parts: &[&str]) {
    for part in parts {
        // SAFETY: the pointer and length are those of a string.
        // Nothing can be done about a closed standard error.
        let _ = unsafe { libc::write(2, part.as_ptr().cast(), part.len()) };
    }
}
