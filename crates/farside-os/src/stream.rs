//! Sockets that carry bytes across a network.
//!
//! As of [sockets](crate::socket): signals neither break a call off nor are caused by one, no call is a cancellation
//! point - a thread that the program cancels must not leave while it holds a lock of ours - and nothing is allocated.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::thread::now_ns;
use crate::{OsError, Result, last_errno};

const SUBJECT: &str = "a connection";

/// Repeats a system call while signals interrupt it.
fn retried(name: &'static str, mut call: impl FnMut() -> libc::c_long) -> Result<usize> {
    loop {
        if let Ok(done) = usize::try_from(call()) {
            return Ok(done);
        }
        if last_errno() != libc::EINTR {
            return Err(OsError::last(name, SUBJECT));
        }
    }
}

/// A message header for `len` buffers from `parts` on.
fn header(parts: *mut libc::iovec, len: usize) -> libc::msghdr {
    // SAFETY: all zeros is a message without address, control data and buffers.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    (header.msg_iov, header.msg_iovlen) = (parts, len);
    header
}

/// Sends what goes of `parts`; returns how many bytes.
///
/// # Errors
/// `EAGAIN` if nothing goes now and the socket does not wait.
pub fn send(socket: BorrowedFd<'_>, parts: &[IoSlice<'_>]) -> Result<usize> {
    let (fd, flags) = (socket.as_raw_fd() as libc::c_long, libc::MSG_NOSIGNAL as libc::c_long);
    if let [part] = parts {
        // For one buffer the simpler call takes less.
        let (at, len, nowhere) = (part.as_ptr(), part.len(), std::ptr::null::<libc::sockaddr>());
        // SAFETY: the kernel reads from the slice only.
        return retried("sendto", || unsafe {
            libc::syscall(libc::SYS_sendto, fd, at, len, flags, nowhere, 0 as libc::c_long)
        });
    }
    let header = header(parts.as_ptr().cast_mut().cast(), parts.len());
    // SAFETY: the slices have the layout of `iovec` and are only read; the header outlives the call.
    retried("sendmsg", || unsafe { libc::syscall(libc::SYS_sendmsg, fd, &raw const header, flags) })
}

/// Puts what has arrived into `parts`; returns how many bytes, 0 if the other side hung up.
///
/// # Errors
/// As [`send`].
pub fn receive(socket: BorrowedFd<'_>, parts: &mut [IoSliceMut<'_>]) -> Result<usize> {
    let fd = socket.as_raw_fd() as libc::c_long;
    if let [part] = parts {
        // The same, and it is asked again and again.
        let (at, len) = (part.as_mut_ptr(), part.len());
        // SAFETY: the kernel writes into the slice, which is ours alone.
        return retried("read", || unsafe { libc::syscall(libc::SYS_read, fd, at, len) });
    }
    let mut header = header(parts.as_mut_ptr().cast(), parts.len());
    // SAFETY: the slices have the layout of `iovec`, are ours alone, and outlive the call as the header does.
    retried("recvmsg", || unsafe {
        libc::syscall(libc::SYS_recvmsg, fd, &raw mut header, 0 as libc::c_long)
    })
}

/// The same, but does not wait.
///
/// # Errors
/// `EAGAIN` if nothing has arrived.
pub fn receive_now(socket: BorrowedFd<'_>, parts: &mut [IoSliceMut<'_>]) -> Result<usize> {
    let (fd, flags) = (socket.as_raw_fd() as libc::c_long, libc::MSG_DONTWAIT as libc::c_long);
    let mut header = header(parts.as_mut_ptr().cast(), parts.len());
    // SAFETY: the slices have the layout of `iovec`, are ours alone, and outlive the call as the header does.
    retried("recvmsg", || unsafe { libc::syscall(libc::SYS_recvmsg, fd, &raw mut header, flags) })
}

/// Waits until there is something to receive, or, if `or_room`, room to send; or until the monotonic clock shows `until`
/// nanoseconds. May come back early.
pub fn wait(socket: BorrowedFd<'_>, or_room: bool, until: u64) {
    let left = until.saturating_sub(now_ns());
    let events = if or_room { libc::POLLIN | libc::POLLOUT } else { libc::POLLIN };
    let mut polled = libc::pollfd { fd: socket.as_raw_fd(), events, revents: 0 };
    let time = libc::timespec {
        tv_sec: (left / 1_000_000_000) as i64,
        tv_nsec: (left % 1_000_000_000) as i64,
    };
    // SAFETY: the pointers are valid; who waits looks for himself at what woke him.
    unsafe {
        libc::syscall(
            libc::SYS_ppoll,
            &raw mut polled,
            1 as libc::c_long,
            &raw const time,
            std::ptr::null::<libc::sigset_t>(),
            0 as libc::c_long,
        )
    };
}

/// Has a TCP connection send by the algorithm of that name.
///
/// # Errors
/// If the kernel has none such, or does not let this user choose it.
pub fn control_congestion(socket: BorrowedFd<'_>, name: &str) -> Result<()> {
    // SAFETY: the pointer is valid for as many bytes.
    retried("setsockopt", || unsafe {
        libc::syscall(
            libc::SYS_setsockopt,
            socket.as_raw_fd() as libc::c_long,
            libc::IPPROTO_TCP as libc::c_long,
            libc::TCP_CONGESTION as libc::c_long,
            name.as_ptr(),
            name.len(),
        )
    })
    .map(drop)
}
