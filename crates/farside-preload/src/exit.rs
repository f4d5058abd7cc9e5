//! The end of the process: the threads of the runtime do not hold it up.

use libc::c_int;

use crate::{far, start};

#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;

/// Runs after what the program registered for its end.
extern "C" fn end() {
    // A child of `vfork` has its parent's memory, and none of its threads.
    if let Some(service) = far::service().filter(|_| start::is_own_process()) {
        service.leave();
    }
}

/// `_exit` and `_Exit` of the C library.
///
/// # Safety
/// As those: what the program registered for its end does not run.
unsafe fn end_at_once(status: c_int) -> ! {
    end();
    loop {
        // SAFETY: ends all threads, and does not return.
        unsafe { libc::syscall(libc::SYS_exit_group, status) };
    }
}

/// Ends the process at once.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _exit(status: c_int) -> ! {
    // SAFETY: the caller wants it.
    unsafe { end_at_once(status) }
}

/// Ends the process at once.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Exit(status: c_int) -> ! {
    // SAFETY: the caller wants it.
    unsafe { end_at_once(status) }
}
