//! The functions that come next under a name: the C library's, where this library has one of its own.

use std::ffi::CStr;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// The next function of a name, which is `known` from then on; 0 if there is none.
pub fn find(name: &CStr, known: &AtomicUsize) -> usize {
    let mut function = known.load(Relaxed);
    if function == 0 {
        // SAFETY: the name is a string.
        function = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize;
        known.store(function, Relaxed);
    }
    function
}
