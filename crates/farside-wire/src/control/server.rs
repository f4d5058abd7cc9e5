//! The side of the supervisor.

use std::io;
use std::mem;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use farside_os::socket;

use super::limit::{LimitState, OrderLimit};
use super::message::{BadMessage, Hello, MAX_FIGURES, MAX_MESSAGE, Message, Refusal, Welcome};
use super::part::{BeginPart, PartOrder};

/// The administrator's user id.
const ROOT: u32 = 0;

/// A listening control socket with a random name.
#[derive(Debug)]
pub struct Listener {
    socket: OwnedFd,
    name: String,
}

/// What a message on a connection asks for.
#[derive(Debug)]
pub enum Arrival {
    /// A process wants to join; answer with [`Listener::welcome`] or [`Listener::refuse`].
    Process(Hello),
    /// Somebody wants the figures; answer with [`Listener::figures`].
    Watcher,
    /// A process asks what to do with a part of its run; answer with [`Listener::order`].
    BeginPart(BeginPart),
    /// A part of its run is over; wants no answer.
    EndPart,
    /// Somebody orders a limit, or asks how it is; answer with [`Listener::limit_state`].
    Limit(OrderLimit),
    /// Nothing: the other end hung up.
    Gone,
}

impl Listener {
    /// Listens at a fresh random name.
    pub fn open() -> io::Result<Self> {
        let name = format!("farside-{:032x}", farside_os::random::number()?);
        Ok(Self { socket: socket::listen(&name)?, name })
    }

    /// The name to be passed on in `FARSIDE_CONTROL`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Accepts one waiting connection. The connection never blocks; its other end does.
    ///
    /// A connection from another user is refused and hung up, unless it is the administrator: `Ok(None)`.
    pub fn accept(&self) -> io::Result<Option<OwnedFd>> {
        let session = socket::accept(self.socket.as_fd())?;
        if socket::peer_is_own_user(session.as_fd())? || socket::peer_user(session.as_fd())? == ROOT
        {
            return Ok(Some(session));
        }
        Self::refuse(session.as_fd(), Refusal::ForeignUser)?;
        Ok(None)
    }

    /// Reads the next message of a connection. `WouldBlock` means it has not come yet.
    ///
    /// A message that cannot be read is answered with a refusal and returned as `InvalidData`.
    pub fn arrival(session: BorrowedFd<'_>) -> io::Result<Arrival> {
        let mut buffer = [0; MAX_MESSAGE];
        let received = match socket::receive(session, &mut buffer) {
            Err(error) if error.errno == libc::EBADMSG => {
                Self::refuse(session, Refusal::Malformed)?;
                return Err(io::Error::new(io::ErrorKind::InvalidData, error));
            }
            other => other?,
        };
        if received.len == 0 {
            return Ok(Arrival::Gone);
        }
        match Message::decode(&buffer[..received.len]) {
            // The administrator may look and order; its processes are not this user's.
            Ok(Message::Hello(_)) if !socket::peer_is_own_user(session)? => {
                Self::refuse(session, Refusal::ForeignUser)?;
                Ok(Arrival::Gone)
            }
            Ok(Message::Hello(hello)) => Ok(Arrival::Process(hello)),
            Ok(Message::OrderLimit(order)) => Ok(Arrival::Limit(order)),
            Ok(Message::Watch(_)) => Ok(Arrival::Watcher),
            Ok(Message::BeginPart(begin)) => Ok(Arrival::BeginPart(begin)),
            Ok(Message::EndPart) => Ok(Arrival::EndPart),
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

    /// Takes a process in. `companion` is what it tells by if it is to be recorded, or the tape it is to
    /// follow.
    pub fn welcome(
        session: BorrowedFd<'_>,
        welcome: Welcome,
        counters: BorrowedFd<'_>,
        node: BorrowedFd<'_>,
        companion: Option<BorrowedFd<'_>>,
    ) -> io::Result<()> {
        let message = Message::Welcome(welcome);
        match companion {
            Some(companion) => tell(session, &message, &[counters, node, companion]),
            None => tell(session, &message, &[counters, node]),
        }
    }

    /// Sends a process away.
    pub fn refuse(session: BorrowedFd<'_>, refusal: Refusal) -> io::Result<()> {
        tell(session, &Message::Refusal(refusal), &[])
    }

    /// Tells a process what to do with a part of its run. `companion` is what it tells by if the part is to be
    /// recorded, or the tape to follow.
    pub fn order(
        session: BorrowedFd<'_>,
        order: PartOrder,
        companion: Option<BorrowedFd<'_>>,
    ) -> io::Result<()> {
        tell(session, &Message::PartOrder(order), companion.as_slice())
    }

    /// Answers somebody who orders a limit, or asks how it is.
    pub fn limit_state(session: BorrowedFd<'_>, state: LimitState) -> io::Result<()> {
        tell(session, &Message::LimitState(state), &[])
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
        return Ok(socket::send(
            socket,
            message.encode(&mut buffer).map_err(invalid)?,
            descriptors,
        )?);
    }
    let mut buffer = [0; MAX_MESSAGE];
    Ok(socket::send(socket, message.encode(&mut buffer).map_err(invalid)?, descriptors)?)
}
