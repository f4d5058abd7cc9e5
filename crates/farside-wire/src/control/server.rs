//! The side of the supervisor.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use super::message::{BadMessage, Hello, MAX_FIGURES, MAX_MESSAGE, Message, Refusal, Welcome};
use super::socket::{self, retried};

/// A listening control socket with a random name.
#[derive(Debug)]
pub struct Listener {
    socket: OwnedFd,
    name: String,
}

/// What the first message on a connection asked for.
#[derive(Debug)]
pub enum Arrival {
    /// A process wants to join; answer with [`Listener::welcome`] or [`Listener::refuse`].
    Process(Hello),
    /// Somebody wants the figures; answer with [`Listener::figures`].
    Watcher,
    /// Nothing: the other end hung up.
    Gone,
}

impl Listener {
    /// Listens at a fresh random name.
    pub fn open() -> io::Result<Self> {
        let mut random = [0u8; 16];
        let filled = retried(|| {
            // SAFETY: `random` has room for the bytes asked for.
            unsafe { libc::getrandom(random.as_mut_ptr().cast(), random.len(), 0) }
        })?;
        if filled != random.len() {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        let name = format!("farside-{:032x}", u128::from_ne_bytes(random));
        let (address, len) = socket::address(&name)?;
        let socket = socket::open()?;
        retried(|| {
            // SAFETY: `address` holds `len` valid bytes.
            unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) as isize }
        })?;
        // SAFETY: takes no pointers.
        retried(|| unsafe { libc::listen(socket.as_raw_fd(), 128) as isize })?;
        Ok(Self { socket, name })
    }

    /// The name to be passed on in `FARSIDE_CONTROL`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Accepts one waiting connection. The connection never blocks; its other end does.
    ///
    /// A connection from another user is refused and hung up: `Ok(None)`.
    pub fn accept(&self) -> io::Result<Option<OwnedFd>> {
        let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        let fd = retried(|| {
            let none = std::ptr::null_mut();
            // SAFETY: the address is not asked for.
            unsafe { libc::accept4(self.socket.as_raw_fd(), none, none.cast(), flags) as isize }
        })?;
        // SAFETY: the descriptor is fresh and nobody else's.
        let session = unsafe { OwnedFd::from_raw_fd(fd as RawFd) };
        // SAFETY: takes no pointers and cannot fail.
        let own = unsafe { libc::geteuid() };
        if socket::peer(session.as_fd())?.uid == own {
            return Ok(Some(session));
        }
        Self::refuse(session.as_fd(), Refusal::ForeignUser)?;
        Ok(None)
    }

    /// Reads the first message of a connection. `WouldBlock` means it has not come yet.
    ///
    /// A message that cannot be read is answered with a refusal and returned as `InvalidData`.
    pub fn arrival(session: BorrowedFd<'_>) -> io::Result<Arrival> {
        let mut buffer = [0; MAX_MESSAGE];
        let received = match socket::receive(session, &mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Self::refuse(session, Refusal::Malformed)?;
                return Err(error);
            }
            other => other?,
        };
        if received.len == 0 {
            return Ok(Arrival::Gone);
        }
        match Message::decode(&buffer[..received.len]) {
            Ok(Message::Hello(hello)) => Ok(Arrival::Process(hello)),
            Ok(Message::Watch(_)) => Ok(Arrival::Watcher),
            Ok(other) => Self::reject(session, BadMessage::Kind(other.kind())),
            Err(bad) => Self::reject(session, bad),
        }
    }

    fn reject(session: BorrowedFd<'_>, bad: BadMessage) -> io::Result<Arrival> {
        let refusal = match bad {
            BadMessage::Version(theirs) => Refusal::Version(theirs),
            _ => Refusal::Malformed,
        };
        Self::refuse(session, refusal)?;
        Err(io::Error::new(io::ErrorKind::InvalidData, bad))
    }

    /// Takes a process in.
    pub fn welcome(
        session: BorrowedFd<'_>,
        welcome: Welcome,
        counters: BorrowedFd<'_>,
        node: BorrowedFd<'_>,
    ) -> io::Result<()> {
        tell(session, &Message::Welcome(welcome), &[counters, node])
    }

    /// Sends a process away.
    pub fn refuse(session: BorrowedFd<'_>, refusal: Refusal) -> io::Result<()> {
        tell(session, &Message::Refusal(refusal), &[])
    }

    /// Answers a watcher with JSON text of at most [`MAX_FIGURES`] bytes.
    pub fn figures(session: BorrowedFd<'_>, text: &str) -> io::Result<()> {
        tell(session, &Message::Figures(text), &[])
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn tell(
    socket: BorrowedFd<'_>,
    message: &Message<'_>,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidInput, error);
    if mem::discriminant(message) == mem::discriminant(&Message::Figures("")) {
        let mut buffer = vec![0; MAX_MESSAGE + MAX_FIGURES];
        return socket::send(socket, message.encode(&mut buffer).map_err(invalid)?, descriptors);
    }
    let mut buffer = [0; MAX_MESSAGE];
    socket::send(socket, message.encode(&mut buffer).map_err(invalid)?, descriptors)
}
