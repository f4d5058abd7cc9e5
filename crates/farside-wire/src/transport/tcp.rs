//! TCP without protection.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};

use farside_os::thread::now_ns;

use super::{Interest, Stream};

/// A TCP connection.
#[derive(Debug)]
pub struct Tcp {
    stream: TcpStream,
}

impl Tcp {
    /// Takes a connected stream.
    ///
    /// # Errors
    /// If it cannot be set to send at once and not to wait.
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        without_pacing(&stream);
        Ok(Self { stream })
    }

    /// Connects to a node within `timeout`.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn connect(address: SocketAddr, timeout: std::time::Duration) -> io::Result<Self> {
        Self::new(out_of_the_way(TcpStream::connect_timeout(&address, timeout)?))
    }

    fn raw(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    /// The other side.
    ///
    /// # Errors
    /// If it hung up.
    pub fn peer(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr()
    }
}

/// Descriptors from this number on are seldom closed by programs that close all that they know of, nor counted on by
/// those that count on low ones.
const HIGH: libc::c_int = 800;

/// Gives a descriptor that is opened in the midst of a program a high number.
fn out_of_the_way(stream: TcpStream) -> TcpStream {
    // SAFETY: takes no pointers.
    let high = unsafe { libc::fcntl(stream.as_raw_fd(), libc::F_DUPFD_CLOEXEC, HIGH) };
    // Where there are no such numbers, the one it has will do.
    // SAFETY: the new descriptor is nobody else's.
    if high < 0 { stream } else { unsafe { TcpStream::from_raw_fd(high) } }
}

/// Sends as fast as the window allows: a sender that spreads its packets over time (BBR) is made for long ways, and takes
/// half as long again for a batch of pages on a short one.
fn without_pacing(stream: &TcpStream) {
    for name in [&b"cubic"[..], b"reno"] {
        // SAFETY: the pointer is valid for as many bytes.
        let set = unsafe {
            libc::setsockopt(
                stream.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_CONGESTION,
                name.as_ptr().cast(),
                name.len() as libc::socklen_t,
            )
        };
        // Where neither may be chosen, what the machine does will do.
        if set == 0 {
            return;
        }
    }
}

/// Tries again what a signal interrupted.
fn again(mut call: impl FnMut() -> isize) -> io::Result<usize> {
    loop {
        match usize::try_from(call()) {
            Ok(done) => return Ok(done),
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
}

impl Stream for Tcp {
    fn send(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        // SAFETY: all zeros is a message without address and control data.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = parts.as_ptr().cast_mut().cast();
        message.msg_iovlen = parts.len();
        // SAFETY: the slices have the layout of `iovec` and are only read; the header outlives the call.
        again(|| unsafe { libc::sendmsg(self.raw(), &raw const message, libc::MSG_NOSIGNAL) })
    }

    fn receive(&self, parts: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        if let [part] = parts {
            // Asked again and again, the simpler call takes less.
            let (at, len) = (part.as_mut_ptr().cast(), part.len());
            // SAFETY: the kernel writes into the slice, which is ours alone.
            return again(|| unsafe { libc::recv(self.raw(), at, len, 0) });
        }
        // SAFETY: as above; the kernel writes into the slices, which are ours alone.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = parts.as_mut_ptr().cast();
        message.msg_iovlen = parts.len();
        // SAFETY: as above.
        again(|| unsafe { libc::recvmsg(self.raw(), &raw mut message, 0) })
    }

    fn wait(&self, interest: Interest, until: u64) {
        let left = until.saturating_sub(now_ns());
        let events = match interest {
            Interest::Receive => libc::POLLIN,
            Interest::Send => libc::POLLIN | libc::POLLOUT,
        };
        let mut polled = libc::pollfd { fd: self.raw(), events, revents: 0 };
        let time = libc::timespec {
            tv_sec: (left / 1_000_000_000) as i64,
            tv_nsec: (left % 1_000_000_000) as i64,
        };
        // SAFETY: the pointers are valid; who waits looks for himself at what woke him.
        unsafe { libc::ppoll(&raw mut polled, 1, &raw const time, std::ptr::null()) };
    }

    fn shut(&self) {
        // It may be shut already.
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
    }
}

/// Waits for connections.
#[derive(Debug)]
pub struct TcpListening {
    listener: TcpListener,
}

impl TcpListening {
    /// Listens at an address.
    ///
    /// # Errors
    /// If somebody else does, or it is no address of this machine.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(address)? })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// If the kernel does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The next connection, and from where it comes.
    ///
    /// # Errors
    /// If there is none to be had.
    pub fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        self.listener.accept()
    }
}
