//! `SOCK_SEQPACKET` Unix sockets with descriptors as cargo.
//!
//! Everything here may run inside a program that was not written for it: descriptors are
//! close-on-exec, signals neither break a call off nor are caused by one, nothing is allocated.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Most descriptors that one message carries.
pub const MAX_DESCRIPTORS: usize = 4;

/// Room for one control message with [`MAX_DESCRIPTORS`] descriptors, aligned for its header.
#[repr(C, align(8))]
struct Cargo([u8; 64]);

/// What one [`receive`] brought.
#[derive(Debug, Default)]
pub struct Received {
    /// Bytes of the message; 0 if the other end hung up.
    pub len: usize,
    /// The descriptors that came along, in order.
    pub descriptors: [Option<OwnedFd>; MAX_DESCRIPTORS],
}

/// Repeats `call` while it is interrupted by signals.
pub(super) fn retried(mut call: impl FnMut() -> isize) -> io::Result<usize> {
    loop {
        let result = call();
        if let Ok(value) = usize::try_from(result) {
            return Ok(value);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// A new, unconnected, close-on-exec socket.
pub(super) fn open() -> io::Result<OwnedFd> {
    // SAFETY: takes no pointers.
    let fd = retried(|| unsafe {
        libc::socket(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0) as isize
    })?;
    // SAFETY: the descriptor is fresh and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Two connected sockets.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [-1; 2];
    retried(|| {
        // SAFETY: `fds` has room for the two descriptors.
        unsafe {
            libc::socketpair(
                libc::AF_UNIX,
                libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC,
                0,
                fds.as_mut_ptr(),
            ) as isize
        }
    })?;
    // SAFETY: both descriptors are fresh and nobody else's.
    Ok(unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) })
}

/// The abstract address `name`, and its length.
pub(super) fn address(name: &str) -> io::Result<(libc::sockaddr_un, libc::socklen_t)> {
    // SAFETY: an all-zero `sockaddr_un` is valid.
    let mut address: libc::sockaddr_un = unsafe { mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    if name.is_empty() || name.len() >= address.sun_path.len() || name.contains('\0') {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    for (to, from) in address.sun_path[1..].iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    let len = mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + name.len();
    Ok((address, len as libc::socklen_t))
}

/// Sends one message with at most [`MAX_DESCRIPTORS`] descriptors.
pub fn send(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    if descriptors.len() > MAX_DESCRIPTORS {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let mut cargo = Cargo([0; 64]);
    let mut part = libc::iovec { iov_base: bytes.as_ptr() as *mut _, iov_len: bytes.len() };
    // SAFETY: an all-zero `msghdr` is valid.
    let mut header: libc::msghdr = unsafe { mem::zeroed() };
    header.msg_iov = &mut part;
    header.msg_iovlen = 1;
    if !descriptors.is_empty() {
        let len = mem::size_of_val(descriptors) as u32;
        header.msg_control = cargo.0.as_mut_ptr().cast();
        // SAFETY: pure arithmetic; at most 4 descriptors need 32 of the 64 bytes.
        header.msg_controllen = unsafe { libc::CMSG_SPACE(len) } as usize;
        // SAFETY: `msg_control` points to `msg_controllen` bytes, aligned, that hold one header and
        // the descriptors.
        unsafe {
            let control = libc::CMSG_FIRSTHDR(&header);
            (*control).cmsg_level = libc::SOL_SOCKET;
            (*control).cmsg_type = libc::SCM_RIGHTS;
            (*control).cmsg_len = libc::CMSG_LEN(len) as usize;
            let data = libc::CMSG_DATA(control).cast::<RawFd>();
            for (i, descriptor) in descriptors.iter().enumerate() {
                data.add(i).write_unaligned(descriptor.as_raw_fd());
            }
        }
    }
    let sent = retried(|| {
        // SAFETY: `header` and all it points to live until the call returns.
        unsafe { libc::sendmsg(socket.as_raw_fd(), &header, libc::MSG_NOSIGNAL) }
    })?;
    if sent == bytes.len() { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EMSGSIZE)) }
}

/// Receives one message into `buffer`.
///
/// A message that is longer than `buffer`, or brings more than [`MAX_DESCRIPTORS`] descriptors, is
/// an error of kind `InvalidData`; none of its descriptors stays open.
pub fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Received> {
    let mut cargo = Cargo([0; 64]);
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: an all-zero `msghdr` is valid.
    let mut header: libc::msghdr = unsafe { mem::zeroed() };
    header.msg_iov = &mut part;
    header.msg_iovlen = 1;
    header.msg_control = cargo.0.as_mut_ptr().cast();
    // SAFETY: pure arithmetic.
    let space = unsafe { libc::CMSG_SPACE((MAX_DESCRIPTORS * size_of::<RawFd>()) as u32) };
    header.msg_controllen = space as usize;
    let len = retried(|| {
        // SAFETY: `header` and all it points to are writable and live until the call returns.
        unsafe { libc::recvmsg(socket.as_raw_fd(), &mut header, libc::MSG_CMSG_CLOEXEC) }
    })?;
    let mut received = Received { len, ..Received::default() };
    let surplus = take_descriptors(&header, &mut received.descriptors);
    if surplus || header.msg_flags & (libc::MSG_TRUNC | libc::MSG_CTRUNC) != 0 {
        return Err(io::Error::from(io::ErrorKind::InvalidData));
    }
    Ok(received)
}

/// Takes hold of every descriptor that `header` brought; those without a place are closed, and that
/// is reported.
fn take_descriptors(header: &libc::msghdr, places: &mut [Option<OwnedFd>]) -> bool {
    let mut taken = 0;
    // SAFETY: the kernel filled `header`; the macros stay inside `msg_controllen`.
    let mut control = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !control.is_null() {
        // SAFETY: `control` points to a header that the kernel wrote.
        let (level, kind, len) =
            unsafe { ((*control).cmsg_level, (*control).cmsg_type, (*control).cmsg_len) };
        if level == libc::SOL_SOCKET && kind == libc::SCM_RIGHTS {
            // SAFETY: pure arithmetic.
            let empty = unsafe { libc::CMSG_LEN(0) } as usize;
            for i in 0..(len - empty) / size_of::<RawFd>() {
                // SAFETY: the kernel wrote that many descriptors; each is ours alone.
                let descriptor = unsafe {
                    let data = libc::CMSG_DATA(control).cast::<RawFd>();
                    OwnedFd::from_raw_fd(data.add(i).read_unaligned())
                };
                if let Some(place) = places.get_mut(taken) {
                    *place = Some(descriptor);
                }
                taken += 1;
            }
        }
        // SAFETY: as for `CMSG_FIRSTHDR`.
        control = unsafe { libc::CMSG_NXTHDR(header, control) };
    }
    taken > places.len()
}

/// User and process at the other end of a connection, as the kernel saw them when it was made.
pub(super) fn peer(socket: BorrowedFd<'_>) -> io::Result<libc::ucred> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    retried(|| {
        // SAFETY: `peer` has room for `len` bytes.
        unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERCRED,
                (&raw mut peer).cast(),
                &mut len,
            ) as isize
        }
    })?;
    Ok(peer)
}
