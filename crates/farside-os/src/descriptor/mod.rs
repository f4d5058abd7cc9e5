//! Numbers of descriptors that a program does not know of.

mod ours;
mod room;

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::Result;
use crate::error::check;

pub use ours::{forget, is_ours, next_of_ours};
pub use room::{Room, high};

/// Gives a descriptor of ours a [high](high()) number; the one it has, if there is none.
pub fn out_of_the_way(descriptor: OwnedFd) -> OwnedFd {
    duplicate(descriptor.as_fd()).unwrap_or(descriptor)
}

/// A copy of a descriptor that has a [high](high()) number, or any, and is closed on exec.
///
/// # Errors
/// If the process has too many.
pub fn duplicate(descriptor: BorrowedFd<'_>) -> Result<OwnedFd> {
    let copy = |least: i32| {
        let (fd, command) = (descriptor.as_raw_fd() as libc::c_long, libc::F_DUPFD_CLOEXEC);
        // SAFETY: takes no pointers.
        let new = unsafe {
            libc::syscall(libc::SYS_fcntl, fd, command as libc::c_long, least as libc::c_long)
        };
        check(new, "fcntl", "a descriptor")
    };
    let room = Room::make();
    let new = copy(high()).or_else(|_| copy(0))? as i32;
    drop(room);
    ours::note(new);
    // SAFETY: the new descriptor is nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(new) })
}
