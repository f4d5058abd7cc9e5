//! Passing descriptors between processes over Unix sockets.

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use crate::error::check;
use crate::{OsError, Result};

/// Most descriptors in one message.
pub const MAX_FDS: usize = 4;

#[repr(C, align(8))]
struct Control([u8; 64]);

/// A connected pair of sequenced-packet sockets, closed on exec.
pub fn pair() -> Result<(OwnedFd, OwnedFd)> {
    let mut fds = [-1; 2];
    // SAFETY: the array takes the two descriptors, which are ours alone on success.
    let result = unsafe {
        libc::socketpair(
            libc::AF_UNIX,
            libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC,
            0,
            fds.as_mut_ptr(),
        )
    };
    check(i64::from(result), "socketpair", "a node link")?;
    // SAFETY: as above.
    Ok(unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) })
}

/// Sends one message with up to [`MAX_FDS`] descriptors.
pub fn send(socket: BorrowedFd<'_>, bytes: &[u8], fds: &[RawFd]) -> Result<()> {
    let mut vector =
        libc::iovec { iov_base: bytes.as_ptr() as *mut libc::c_void, iov_len: bytes.len() };
    let mut control = Control([0; 64]);
    // SAFETY: a zeroed message header is valid; the fields set below point to live buffers.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    if !fds.is_empty() {
        let payload = size_of_val(&fds[..fds.len().min(MAX_FDS)]);
        message.msg_control = (&raw mut control).cast();
        // SAFETY: the control buffer is aligned and large enough for MAX_FDS descriptors.
        unsafe {
            message.msg_controllen = libc::CMSG_SPACE(payload as u32) as usize;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(payload as u32) as usize;
            std::ptr::copy_nonoverlapping(
                fds.as_ptr().cast::<u8>(),
                libc::CMSG_DATA(header),
                payload,
            );
        }
    }
    loop {
        // SAFETY: the header and all it points to are live.
        let n = unsafe {
            libc::syscall(
                libc::SYS_sendmsg,
                socket.as_raw_fd(),
                &raw const message,
                libc::MSG_NOSIGNAL,
            )
        };
        if n >= 0 {
            return Ok(());
        }
        let error = OsError::last("sendmsg", "a link");
        if error.errno != libc::EINTR {
            return Err(error);
        }
    }
}

/// Receives one message into `bytes`; returns its length (0: the other end is gone) and the
/// descriptors that came with it, closed on exec.
pub fn receive(socket: BorrowedFd<'_>, bytes: &mut [u8]) -> Result<(usize, Vec<OwnedFd>)> {
    let mut vector = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let mut control = Control([0; 64]);
    // SAFETY: a zeroed message header is valid; the fields set below point to live buffers.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut control).cast();
    message.msg_controllen = size_of::<Control>();
    let n = loop {
        // SAFETY: the header and all it points to are live and writable.
        let n = unsafe {
            libc::syscall(
                libc::SYS_recvmsg,
                socket.as_raw_fd(),
                &raw mut message,
                libc::MSG_CMSG_CLOEXEC,
            )
        };
        if n >= 0 {
            break n as usize;
        }
        let error = OsError::last("recvmsg", "a link");
        if error.errno != libc::EINTR {
            return Err(error);
        }
    };
    let mut fds = Vec::new();
    // SAFETY: the kernel filled in the control buffer; the iteration macros stay within its length,
    // and each descriptor in it is new and ours.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_RIGHTS {
                let count = ((*header).cmsg_len - libc::CMSG_LEN(0) as usize) / size_of::<RawFd>();
                for i in 0..count {
                    let fd = libc::CMSG_DATA(header).cast::<RawFd>().add(i).read_unaligned();
                    fds.push(OwnedFd::from_raw_fd(fd));
                }
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
    }
    Ok((n, fds))
}
