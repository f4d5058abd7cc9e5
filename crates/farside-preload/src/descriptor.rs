//! `close`, `close_range`, `closefrom`, `dup2` and `dup3`: a program that closes every descriptor there may be, as daemons
//! do, closes its own. Ours are, to it, numbers that are not open and cannot be had.

use std::ffi::{c_int, c_uint};
use std::ops::RangeInclusive;

use farside_os::descriptor::{forget, is_ours, next_of_ours};

use crate::mmap::c_result;
use crate::{sys, thread};

unsafe extern "C" {
    fn __close(number: c_int) -> c_int;
    fn __dup2(old: c_int, new: c_int) -> c_int;
}

/// Whether a program means a descriptor of ours.
fn is_hidden(number: c_int) -> bool {
    is_ours(number) && !thread::in_runtime()
}

/// `close`.
#[unsafe(no_mangle)]
pub extern "C" fn close(number: c_int) -> c_int {
    if is_hidden(number) {
        return c_result(Err(libc::EBADF));
    }
    forget(number);
    // SAFETY: takes no pointers.
    unsafe { __close(number) }
}

/// `dup2`.
#[unsafe(no_mangle)]
pub extern "C" fn dup2(old: c_int, new: c_int) -> c_int {
    if is_hidden(old) || is_hidden(new) {
        return c_result(Err(libc::EBADF));
    }
    // SAFETY: takes no pointers.
    unsafe { __dup2(old, new) }
}

/// `dup3`.
#[unsafe(no_mangle)]
pub extern "C" fn dup3(old: c_int, new: c_int, flags: c_int) -> c_int {
    if is_hidden(old) || is_hidden(new) {
        return c_result(Err(libc::EBADF));
    }
    match sys::dup3(old, new, flags) {
        Ok(number) => number,
        Err(error) => c_result(Err(error)),
    }
}

/// What is left of a range of numbers without ours, in order.
fn without_ours(range: RangeInclusive<u32>) -> impl Iterator<Item = RangeInclusive<u32>> {
    let (mut from, last) = (Some(*range.start()), *range.end());
    std::iter::from_fn(move || {
        loop {
            let first = from.filter(|first| *first <= last)?;
            let ours = next_of_ours(first).filter(|ours| *ours <= last);
            from = ours.unwrap_or(last).checked_add(1);
            match ours {
                Some(ours) if ours == first => {}
                Some(ours) => return Some(first..=ours - 1),
                None => return Some(first..=last),
            }
        }
    })
}

/// `close_range`.
#[unsafe(no_mangle)]
pub extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    // Ours are closed on exec anyway; a range that is none is told so by the kernel.
    if thread::in_runtime() || first > last || flags as c_uint & libc::CLOSE_RANGE_CLOEXEC != 0 {
        return c_result(sys::close_range(first, last, flags));
    }
    let parts = without_ours(first..=last);
    let closed = parts.map(|part| sys::close_range(*part.start(), *part.end(), flags));
    c_result(closed.fold(Ok(()), Result::and))
}

/// `closefrom`.
#[unsafe(no_mangle)]
pub extern "C" fn closefrom(first: c_int) {
    let errno = sys::errno();
    close_range(first.max(0) as c_uint, c_uint::MAX, 0);
    sys::set_errno(errno);
}
