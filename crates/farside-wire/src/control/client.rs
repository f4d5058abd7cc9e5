//! The side of a managed process, and of `farside top`.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use farside_os::OsError;
use farside_os::socket::{self, MAX_DESCRIPTORS, Received};
use thiserror::Error;

use super::message::{BadMessage, Hello, MAX_FIGURES, MAX_MESSAGE, Message, Refusal, Watch};

/// Why a process could not join the run it was started in.
#[derive(Debug, Error)]
pub enum ControlError {
    /// No supervisor answers at that name.
    #[error("cannot reach the supervisor of this run (is `farside run` still there?): {0}")]
    Connect(#[source] OsError),
    /// Another user listens at that name.
    #[error("user {0} listens where the supervisor of this run should")]
    NotTheirs(u32),
    /// The conversation broke off.
    #[error("lost the supervisor while {0}: {1}")]
    Broken(&'static str, #[source] OsError),
    /// The supervisor hung up without an answer.
    #[error("the supervisor hung up without an answer")]
    HungUp,
    /// The supervisor said no.
    #[error("the supervisor refused: {0}")]
    Refused(Refusal),
    /// The answer makes no sense.
    #[error("bad answer from the supervisor: {0}")]
    Bad(#[from] BadMessage),
    /// The answer lacks its descriptors.
    #[error("the supervisor's answer came without its descriptors")]
    NoDescriptors,
}

/// What a process gets from its supervisor.
#[derive(Debug)]
pub struct Joined {
    /// A zeroed counters block, to be mapped shared.
    pub counters: OwnedFd,
    /// How many bytes of it may be mapped.
    pub counters_len: u32,
    /// Connection to the memory node.
    pub node: OwnedFd,
    /// To be kept open for the life of the process; a forked child closes its copy.
    pub session: OwnedFd,
    /// Number of the process within the run, from 0.
    pub index: u32,
    /// Process id of the supervisor.
    pub supervisor_pid: u32,
    /// The [queue](crate::queue) by which the process is to tell what is recorded, or the
    /// [tape](crate::tape_image) it is to follow; its settings say which.
    pub companion: Option<OwnedFd>,
}

/// Joins the run whose supervisor listens at `name`.
///
/// Blocks until the supervisor answers. Allocates nothing and starts no thread; all descriptors are
/// close-on-exec.
pub fn join(name: &str, hello: &Hello) -> Result<Joined, ControlError> {
    let session = socket::connect(name).map_err(ControlError::Connect)?;
    let mut buffer = [0; MAX_MESSAGE];
    let (len, descriptors) = ask(session.as_fd(), &Message::Hello(*hello), &mut buffer)?;
    let welcome = match Message::decode(&buffer[..len])? {
        Message::Welcome(welcome) => welcome,
        Message::Refusal(refusal) => return Err(ControlError::Refused(refusal)),
        other => return Err(BadMessage::Kind(other.kind()).into()),
    };
    let [Some(counters), Some(node), companion, None] = descriptors else {
        return Err(ControlError::NoDescriptors);
    };
    Ok(Joined {
        counters,
        counters_len: welcome.counters_len,
        node,
        session,
        index: welcome.index,
        supervisor_pid: welcome.supervisor_pid,
        companion,
    })
}

/// Fetches the figures of the run whose supervisor listens at `name`, as JSON.
pub fn watch(name: &str) -> Result<String, ControlError> {
    let session = socket::connect(name).map_err(ControlError::Connect)?;
    figures(session.as_fd())
}

/// As [`watch`], and waits no longer than `timeout` for each step of it; only from a supervisor of the user `owner`, if
/// one is said.
///
/// # Errors
/// As there; and if the socket is another user's.
pub fn watch_within(
    name: &str,
    timeout: Duration,
    owner: Option<u32>,
) -> Result<String, ControlError> {
    figures(connect_within(name, timeout, owner)?.as_fd())
}

/// A connection to `name`, where the user `owner` listens, if one is said.
pub(super) fn connect_within(
    name: &str,
    timeout: Duration,
    owner: Option<u32>,
) -> Result<OwnedFd, ControlError> {
    let session = socket::connect_within(name, timeout).map_err(ControlError::Connect)?;
    let user = socket::peer_user(session.as_fd()).map_err(ControlError::Connect)?;
    match owner {
        // A name that its owner has given up is anybody's.
        Some(owner) if owner != user => Err(ControlError::NotTheirs(user)),
        _ => Ok(session),
    }
}

fn figures(session: BorrowedFd<'_>) -> Result<String, ControlError> {
    let mut buffer = vec![0; MAX_MESSAGE + MAX_FIGURES];
    let (len, _) = ask(session, &Message::Watch(Watch), &mut buffer)?;
    match Message::decode(&buffer[..len])? {
        Message::Figures(text) => Ok(text.to_owned()),
        Message::Refusal(refusal) => Err(ControlError::Refused(refusal)),
        other => Err(BadMessage::Kind(other.kind()).into()),
    }
}

/// Sends `question` and waits for one answer, which is left in `buffer`.
pub(super) fn ask(
    session: BorrowedFd<'_>,
    question: &Message<'_>,
    buffer: &mut [u8],
) -> Result<(usize, [Option<OwnedFd>; MAX_DESCRIPTORS]), ControlError> {
    let bytes = question.encode(buffer)?;
    // A supervisor that refuses unheard has answered and hung up already; the answer says why.
    let sent = socket::send(session, bytes, &[]);
    let mut answer = socket::receive(session, buffer);
    if answer.as_ref().is_err_and(|error| error.errno == libc::ECONNRESET) {
        // The reset of a question left unread is reported once, before the answer.
        answer = socket::receive(session, buffer);
    }
    let Received { len, descriptors } =
        answer.map_err(|error| ControlError::Broken("waiting for its answer", error))?;
    if len == 0 {
        sent.map_err(|error| ControlError::Broken("presenting this process", error))?;
        return Err(ControlError::HungUp);
    }
    Ok((len, descriptors))
}
