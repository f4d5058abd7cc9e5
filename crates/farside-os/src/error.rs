//! Failed system calls.

use thiserror::Error;

/// A system call that failed: what was called, on what, and the error number.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
#[error("{call} of {subject} failed: {}", std::io::Error::from_raw_os_error(*errno))]
pub struct OsError {
    /// The system call or ioctl.
    pub call: &'static str,
    /// What it was applied to.
    pub subject: &'static str,
    /// The kernel's error number.
    pub errno: i32,
}

/// Result of a system call.
pub type Result<T> = std::result::Result<T, OsError>;

impl OsError {
    /// The error that the calling thread's last system call left in `errno`.
    pub fn last(call: &'static str, subject: &'static str) -> Self {
        Self { call, subject, errno: last_errno() }
    }
}

impl From<OsError> for std::io::Error {
    fn from(error: OsError) -> Self {
        Self::from_raw_os_error(error.errno)
    }
}

/// The calling thread's `errno`.
pub fn last_errno() -> i32 {
    // SAFETY: the C library returns a valid pointer to the calling thread's own errno.
    unsafe { *libc::__errno_location() }
}

/// Turns the C convention of -1 for failure into a result.
pub(crate) fn check(result: i64, call: &'static str, subject: &'static str) -> Result<i64> {
    if result == -1 { Err(OsError::last(call, subject)) } else { Ok(result) }
}
