//! The functions that look into or tune a C library's heap: answered so that programs go on.

use std::ffi::{c_char, c_int};

use crate::heap;

/// `mallopt`: any setting is accepted, none has a counterpart here.
#[unsafe(no_mangle)]
pub extern "C" fn mallopt(_parameter: c_int, _value: c_int) -> c_int {
    1
}

/// `mallinfo`: all zero, which its definition allows for what an allocator does not count.
#[unsafe(no_mangle)]
pub extern "C" fn mallinfo() -> libc::mallinfo {
    // SAFETY: the structure consists of numbers.
    unsafe { std::mem::zeroed() }
}

/// `mallinfo2`: see [`mallinfo`].
#[unsafe(no_mangle)]
pub extern "C" fn mallinfo2() -> libc::mallinfo2 {
    // SAFETY: the structure consists of numbers.
    unsafe { std::mem::zeroed() }
}

/// `malloc_trim`: gives up the content of all free memory.
#[unsafe(no_mangle)]
pub extern "C" fn malloc_trim(_pad: usize) -> c_int {
    heap::purge_all();
    1
}

/// `malloc_stats`: writes nothing.
#[unsafe(no_mangle)]
pub extern "C" fn malloc_stats() {}

/// `malloc_info`: writes an empty report.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc_info(options: c_int, stream: *mut libc::FILE) -> c_int {
    const REPORT: &[u8] = b"<malloc version=\"1\">\n</malloc>\n\0";
    if options != 0 {
        return libc::EINVAL;
    }
    // SAFETY: the caller passes an open stream; the text ends with a zero.
    unsafe { libc::fputs(REPORT.as_ptr().cast::<c_char>(), stream) };
    0
}
