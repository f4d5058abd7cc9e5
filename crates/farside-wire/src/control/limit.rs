//! The local limit of a run that goes on: what is ordered, and what is in force.

use std::os::fd::AsFd;
use std::time::Duration;

use super::client::{ControlError, ask, connect_within};
use super::message::{BadMessage, MAX_MESSAGE, Message};

/// Orders a limit for all processes of a run together, or only asks how it is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct OrderLimit {
    /// Bytes, more than 0; `None` to change nothing.
    pub bytes: Option<u64>,
}

/// How it is with the limit of a run: the supervisor's answer to [`OrderLimit`].
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitState {
    /// The limit that is ordered, in bytes; 0 if none is.
    pub ordered: u64,
    /// What the run may have just now: the limits in force of all its processes, in bytes.
    pub limit: u64,
    /// What it has.
    pub resident: u64,
    /// The least that can be ordered; an order of less is refused.
    pub least: u64,
    /// Whether the order was refused.
    pub refused: bool,
}

impl LimitState {
    /// What is to be counted on: what it has, or may have.
    pub fn claim(&self) -> u64 {
        self.limit.max(self.resident)
    }

    pub(super) fn words(self) -> [u64; 5] {
        [self.ordered, self.limit, self.resident, self.least, u64::from(self.refused)]
    }

    pub(super) fn from_words(words: [u64; 5]) -> Result<Self, BadMessage> {
        let [ordered, limit, resident, least, refused] = words;
        match refused {
            0 | 1 => Ok(Self { ordered, limit, resident, least, refused: refused == 1 }),
            _ => Err(BadMessage::Field("answer about a limit")),
        }
    }
}

/// Orders a limit for the run whose supervisor listens at `name`, and waits no longer than `timeout` for each step of it; only a
/// supervisor of the user `owner`, if one is said.
///
/// # Errors
/// If the supervisor does not answer, or refuses to.
pub fn order_limit(
    name: &str,
    order: OrderLimit,
    timeout: Duration,
    owner: Option<u32>,
) -> Result<LimitState, ControlError> {
    let session = connect_within(name, timeout, owner)?;
    let mut buffer = [0; MAX_MESSAGE];
    let (len, _) = ask(session.as_fd(), &Message::OrderLimit(order), &mut buffer)?;
    match Message::decode(&buffer[..len])? {
        Message::LimitState(state) => Ok(state),
        Message::Refusal(refusal) => Err(ControlError::Refused(refusal)),
        other => Err(BadMessage::Kind(other.kind()).into()),
    }
}
