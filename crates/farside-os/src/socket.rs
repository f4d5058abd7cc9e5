//! Unix sockets that keep message boundaries and carry descriptors.
//!
//! Everything here may run inside a program that was not written for it: descriptors are
//! close-on-exec, signals neither break a call off nor are caused by one, no call is a cancellation
//! point, and nothing is allocated.

use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use crate::descriptor::out_of_the_way;
use crate::{OsError, Result};

/// Most descriptors that one message carries.
pub const MAX_DESCRIPTORS: usize = 4;

const LINK: &str = "a link";

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

/// Repeats the system call `call` while signals interrupt it.
fn retried(name: &'static str, mut call: impl FnMut() -> libc::c_long) -> Result<usize> {
    loop {
        if let Ok(value) = usize::try_from(call()) {
            return Ok(value);
        }
        let error = OsError::last(name, LINK);
        if error.errno != libc::EINTR {
            return Err(error);
        }
    }
}

fn own(fd: usize) -> OwnedFd {
    // SAFETY: only called with a descriptor that the kernel has just made for us.
    unsafe { OwnedFd::from_raw_fd(fd as RawFd) }
}

const KIND: libc::c_int = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;

/// Two connected sockets.
pub fn pair() -> Result<(OwnedFd, OwnedFd)> {
    let mut fds: [RawFd; 2] = [-1; 2];
    // SAFETY: `fds` has room for the two descriptors.
    retried("socketpair", || unsafe {
        libc::syscall(libc::SYS_socketpair, libc::AF_UNIX, KIND, 0, fds.as_mut_ptr())
    })?;
    Ok((own(fds[0] as usize), own(fds[1] as usize)))
}

/// Two connected sockets that carry bytes, not packets.
pub fn stream_pair() -> Result<(OwnedFd, OwnedFd)> {
    let mut fds: [RawFd; 2] = [-1; 2];
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: `fds` has room for the two descriptors.
    retried("socketpair", || unsafe {
        libc::syscall(libc::SYS_socketpair, libc::AF_UNIX, kind, 0, fds.as_mut_ptr())
    })?;
    Ok((own(fds[0] as usize), own(fds[1] as usize)))
}

/// A socket connected to whoever listens at the abstract address `name`.
pub fn connect(name: &str) -> Result<OwnedFd> {
    let (address, len) = address("connect", name)?;
    let socket = open()?;
    // SAFETY: `address` holds `len` valid bytes.
    retried("connect", || unsafe {
        libc::syscall(libc::SYS_connect, socket.as_raw_fd(), &raw const address, len)
    })?;
    Ok(socket)
}

/// As [`connect`], but neither that, nor sending, nor receiving takes longer than `timeout`: they fail with `EAGAIN` then.
pub fn connect_within(name: &str, timeout: Duration) -> Result<OwnedFd> {
    let (address, len) = address("connect", name)?;
    let socket = open()?;
    let time = libc::timeval {
        tv_sec: timeout.as_secs().min(1 << 30) as libc::time_t,
        // None at all would be for ever.
        tv_usec: (libc::suseconds_t::from(timeout.subsec_micros())).max(1),
    };
    for option in [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO] {
        // SAFETY: `time` is as long as is said.
        retried("setsockopt", || unsafe {
            libc::syscall(
                libc::SYS_setsockopt,
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                option,
                &raw const time,
                size_of::<libc::timeval>(),
            )
        })?;
    }
    // SAFETY: `address` holds `len` valid bytes.
    retried("connect", || unsafe {
        libc::syscall(libc::SYS_connect, socket.as_raw_fd(), &raw const address, len)
    })?;
    Ok(socket)
}

/// A socket that listens at the abstract address `name`.
pub fn listen(name: &str) -> Result<OwnedFd> {
    const BACKLOG: libc::c_int = 128;
    let (address, len) = address("bind", name)?;
    let socket = open()?;
    // SAFETY: `address` holds `len` valid bytes.
    retried("bind", || unsafe {
        libc::syscall(libc::SYS_bind, socket.as_raw_fd(), &raw const address, len)
    })?;
    // SAFETY: takes no pointers.
    retried("listen", || unsafe { libc::syscall(libc::SYS_listen, socket.as_raw_fd(), BACKLOG) })?;
    Ok(socket)
}

/// Accepts one waiting connection, which never blocks on this side.
pub fn accept(listener: BorrowedFd<'_>) -> Result<OwnedFd> {
    let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    let nowhere = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: the address is not asked for.
    let fd = retried("accept4", || unsafe {
        libc::syscall(libc::SYS_accept4, listener.as_raw_fd(), nowhere, nowhere, flags)
    })?;
    Ok(own(fd))
}

/// Whether the other end of a connection belonged to this user when it was made.
pub fn peer_is_own_user(socket: BorrowedFd<'_>) -> Result<bool> {
    // SAFETY: takes no pointers and cannot fail.
    Ok(peer_user(socket)? == unsafe { libc::geteuid() })
}

/// The user to whom the other end of a connection belonged when it was made.
pub fn peer_user(socket: BorrowedFd<'_>) -> Result<u32> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: `peer` has room for `len` bytes.
    retried("getsockopt", || unsafe {
        libc::syscall(
            libc::SYS_getsockopt,
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            &raw mut peer,
            &raw mut len,
        )
    })?;
    Ok(peer.uid)
}

fn open() -> Result<OwnedFd> {
    // SAFETY: takes no pointers.
    let fd =
        retried("socket", || unsafe { libc::syscall(libc::SYS_socket, libc::AF_UNIX, KIND, 0) })?;
    Ok(out_of_the_way(own(fd)))
}

/// The abstract address `name`, and its length.
fn address(call: &'static str, name: &str) -> Result<(libc::sockaddr_un, libc::socklen_t)> {
    // SAFETY: an all-zero `sockaddr_un` is valid.
    let mut address: libc::sockaddr_un = unsafe { mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    if name.is_empty() || name.len() >= address.sun_path.len() || name.contains('\0') {
        return Err(OsError { call, subject: LINK, errno: libc::EINVAL });
    }
    for (to, from) in address.sun_path[1..].iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    let len = mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + name.len();
    Ok((address, len as libc::socklen_t))
}

/// Sends one message with at most [`MAX_DESCRIPTORS`] descriptors.
pub fn send(socket: BorrowedFd<'_>, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> Result<()> {
    let error = |errno| OsError { call: "sendmsg", subject: LINK, errno };
    if descriptors.len() > MAX_DESCRIPTORS {
        return Err(error(libc::EINVAL));
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
    // SAFETY: `header` and all it points to live until the call returns.
    let sent = retried("sendmsg", || unsafe {
        libc::syscall(libc::SYS_sendmsg, socket.as_raw_fd(), &raw const header, libc::MSG_NOSIGNAL)
    })?;
    if sent == bytes.len() { Ok(()) } else { Err(error(libc::EMSGSIZE)) }
}

/// Receives one message into `buffer`.
///
/// A message that is longer than `buffer`, or brings more than [`MAX_DESCRIPTORS`] descriptors, fails
/// with `EBADMSG`; none of its descriptors stays open.
pub fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<Received> {
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
    // SAFETY: `header` and all it points to are writable and live until the call returns.
    let len = retried("recvmsg", || unsafe {
        libc::syscall(
            libc::SYS_recvmsg,
            socket.as_raw_fd(),
            &raw mut header,
            libc::MSG_CMSG_CLOEXEC,
        )
    })?;
    let mut received = Received { len, ..Received::default() };
    let surplus = take_descriptors(&header, &mut received.descriptors);
    if surplus || header.msg_flags & (libc::MSG_TRUNC | libc::MSG_CTRUNC) != 0 {
        return Err(OsError { call: "recvmsg", subject: LINK, errno: libc::EBADMSG });
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
                // SAFETY: the kernel wrote that many descriptors.
                let fd =
                    unsafe { libc::CMSG_DATA(control).cast::<RawFd>().add(i).read_unaligned() };
                let descriptor = out_of_the_way(own(fd as usize));
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
