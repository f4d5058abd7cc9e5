//! Files on storage: how much room there is, and bytes at places in them.

use std::os::fd::{AsRawFd, BorrowedFd};

pub use crate::memory::{punch_hole, read_at, write_at};
use crate::{OsError, Result};

/// Bytes that may still be written to the file system that a file is on.
///
/// # Errors
/// If it does not tell.
pub fn free_bytes(file: BorrowedFd<'_>, subject: &'static str) -> Result<u64> {
    // SAFETY: all zeros is a valid structure, which the call fills.
    let (result, stat) = unsafe {
        let mut stat: libc::statfs = std::mem::zeroed();
        (libc::syscall(libc::SYS_fstatfs, file.as_raw_fd(), &raw mut stat), stat)
    };
    if result != 0 {
        return Err(OsError::last("fstatfs", subject));
    }
    Ok(stat.f_bavail.saturating_mul(u64::try_from(stat.f_bsize).unwrap_or(0)))
}
