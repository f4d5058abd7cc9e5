//! TCP without protection.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;

use farside_os::{descriptor, stream};

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

    /// The other side.
    ///
    /// # Errors
    /// If it hung up.
    pub fn peer(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr()
    }
}

/// Gives a descriptor that is opened in the midst of a program a high number.
fn out_of_the_way(stream: TcpStream) -> TcpStream {
    descriptor::out_of_the_way(stream.into()).into()
}

/// Sends as fast as the window allows: a sender that spreads its packets over time (BBR) is made for long ways, and takes
/// half as long again for a batch of pages on a short one. Where no other may be chosen, what the machine does will
/// do.
fn without_pacing(stream: &TcpStream) {
    let _ = stream::control_congestion(stream.as_fd(), "cubic")
        .or_else(|_| stream::control_congestion(stream.as_fd(), "reno"));
}

impl Stream for Tcp {
    fn send(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(stream::send(self.stream.as_fd(), parts)?)
    }

    fn receive(&self, parts: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        Ok(stream::receive(self.stream.as_fd(), parts)?)
    }

    fn wait(&self, interest: Interest, until: u64) {
        stream::wait(self.stream.as_fd(), interest == Interest::Send, until);
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
