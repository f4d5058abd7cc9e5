//! The dynamic loader's own records of what is loaded stay in local memory.
//!
//! Whoever loads a library walks the records of all the others. The runtime does so, too, in a forked child
//! that loads UCX before anybody serves its faults; far records would make it wait for itself. The loader
//! asks for their memory with the program's `malloc`, so that it is told by the address it calls from.

use std::ffi::c_void;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// Objects of at most this many bytes are the loader's records. What is larger is the thread-local
/// storage of a library, which is the program's.
const LARGEST_RECORD: usize = 64 << 10;

/// Where the loader lies; length 0 until [`find`] has found it.
static START: AtomicUsize = AtomicUsize::new(0);
static LEN: AtomicUsize = AtomicUsize::new(0);

/// Whether a call for `size` bytes that returns to `caller` is the loader's, for a record.
#[inline(always)]
pub fn asks(caller: usize, size: usize) -> bool {
    caller.wrapping_sub(START.load(Relaxed)) < LEN.load(Relaxed) && size <= LARGEST_RECORD
}

/// Finds out where the loader lies. Called at start-up; where it cannot be told, the loader's memory is
/// like the program's.
pub fn find() {
    // SAFETY: the name is a valid C string. The C library has the loader define it.
    let inside = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__tls_get_addr".as_ptr()) };
    if inside.is_null() {
        return;
    }
    // SAFETY: all zeros are valid for this structure, which the function fills.
    let start = unsafe {
        let mut found: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(inside, &mut found) == 0 {
            return;
        }
        found.dli_fbase
    };
    // SAFETY: a loaded file begins with its header, and the loader is never unloaded.
    let len = unsafe { loaded_len(start) };
    if (inside as usize).wrapping_sub(start as usize) < len {
        START.store(start as usize, Relaxed);
        LEN.store(len, Release);
    }
}

/// Bytes from the start of a loaded file to the end of its last segment.
///
/// # Safety
/// `start` is where a file is loaded, its header included.
unsafe fn loaded_len(start: *const c_void) -> usize {
    // SAFETY: the caller's contract; the header says where the segments are listed, in the same mapping.
    let segments = unsafe {
        let header = &*start.cast::<libc::Elf64_Ehdr>();
        let list = start.byte_add(header.e_phoff as usize).cast::<libc::Elf64_Phdr>();
        std::slice::from_raw_parts(list, usize::from(header.e_phnum))
    };
    let ends = segments.iter().filter(|segment| segment.p_type == libc::PT_LOAD);
    ends.map(|segment| (segment.p_vaddr + segment.p_memsz) as usize).max().unwrap_or(0)
}
