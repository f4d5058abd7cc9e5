//! The environment that UCX finds: that of the process as it was when UCX was loaded for the first time, which is before
//! the program ran. What the program makes of its environment later may lie in far memory, and a forked child loads
//! UCX anew before anybody serves its faults.

use std::ffi::{CString, c_char};
use std::os::unix::ffi::OsStringExt;
use std::sync::OnceLock;

unsafe extern "C" {
    static mut environ: *const *const c_char;
}

/// Names and values, and null at the end. They live as long as the process.
struct Kept(Box<[*const c_char]>);

// SAFETY: nobody changes the texts or the list of them.
unsafe impl Send for Kept {}
// SAFETY: as above.
unsafe impl Sync for Kept {}

static KEPT: OnceLock<Kept> = OnceLock::new();

fn keep() -> Kept {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        let mut text = name.into_vec();
        text.push(b'=');
        text.extend(value.into_vec());
        CString::new(text).ok().map(|text| text.into_raw().cast_const())
    };
    Kept(std::env::vars_os().filter_map(text).chain([std::ptr::null()]).collect())
}

/// Runs `load`, which takes the environment of the process over into a C library of its own, with the one that was kept.
///
/// # Safety
/// No other thread of the process uses its environment meanwhile.
pub unsafe fn with_kept<T>(load: impl FnOnce() -> T) -> T {
    let kept = KEPT.get_or_init(keep);
    // SAFETY: the caller's contract; the list ends in null, and lives on.
    unsafe {
        let own = environ;
        environ = kept.0.as_ptr();
        let result = load();
        environ = own;
        result
    }
}
