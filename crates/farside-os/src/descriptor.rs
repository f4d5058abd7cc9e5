//! Numbers of descriptors that a program does not know of.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::Result;
use crate::error::check;

/// Descriptors from this number on are seldom closed by programs that close all that they know of, nor counted on by
/// those that count on low ones, as shells do: `exec 3< file` closes whatever has that number.
pub const HIGH: i32 = 800;

/// Gives a descriptor of ours a [high](HIGH) number; the one it has, if there is none.
pub fn out_of_the_way(descriptor: OwnedFd) -> OwnedFd {
    renumber(descriptor, HIGH)
}

/// Gives a descriptor the first free number from `least` on; the one it has, if there is none.
fn renumber(descriptor: OwnedFd, least: i32) -> OwnedFd {
    duplicate(descriptor.as_fd(), least).unwrap_or(descriptor)
}

/// A copy of a descriptor that has the first free number from `least` on, or any, and is closed on exec.
///
/// # Errors
/// If the process has too many.
pub fn duplicate(descriptor: BorrowedFd<'_>, least: i32) -> Result<OwnedFd> {
    let copy = |least: i32| {
        let (fd, command) = (descriptor.as_raw_fd() as libc::c_long, libc::F_DUPFD_CLOEXEC);
        // SAFETY: takes no pointers.
        let new = unsafe {
            libc::syscall(libc::SYS_fcntl, fd, command as libc::c_long, least as libc::c_long)
        };
        check(new, "fcntl", "a descriptor")
    };
    let new = copy(least).or_else(|_| copy(0))?;
    // SAFETY: the new descriptor is nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(new as i32) })
}
