//! Parts of a run that are to be on tape: what a process asks its supervisor, and what it is told.

use std::os::fd::{BorrowedFd, OwnedFd};

use farside_os::socket;

use super::client::{ControlError, ask};
use super::message::{BadMessage, MAX_MESSAGE, Message};

/// What the program wants with a part of its run.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum PartMode {
    /// Record it.
    Record,
    /// Follow the tape that is kept for it, if there is one.
    Prefetch,
    /// Follow the tape that is kept for it; if there is none, record it.
    Auto,
}

/// A process comes to a part of its run.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct BeginPart {
    /// What it wants.
    pub mode: PartMode,
    /// Hash of the place in the program from which the part was begun; 0 if it is not known.
    pub site: u64,
    /// How many parts were begun there before.
    pub nth: u32,
}

/// What to do with the part.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum PartOrder {
    /// Nothing.
    Nothing,
    /// Record it, in microsets of so many pages; comes with the [queue](crate::queue).
    Record {
        /// Most pages in a microset, at least 1.
        microset: u32,
    },
    /// Follow the [tape](crate::tape_image) that comes with it.
    Follow,
}

impl BeginPart {
    pub(super) fn words(self) -> [u32; 4] {
        let mode = match self.mode {
            PartMode::Record => 1,
            PartMode::Prefetch => 2,
            PartMode::Auto => 3,
        };
        [mode, self.nth, self.site as u32, (self.site >> 32) as u32]
    }

    pub(super) fn from_words([mode, nth, low, high]: [u32; 4]) -> Result<Self, BadMessage> {
        let mode = match mode {
            1 => PartMode::Record,
            2 => PartMode::Prefetch,
            3 => PartMode::Auto,
            _ => return Err(BadMessage::Field("mode of a part")),
        };
        Ok(Self { mode, site: u64::from(high) << 32 | u64::from(low), nth })
    }
}

impl PartOrder {
    pub(super) fn words(self) -> [u32; 2] {
        match self {
            Self::Nothing => [0, 0],
            Self::Record { microset } => [1, microset],
            Self::Follow => [2, 0],
        }
    }

    pub(super) fn from_words(words: [u32; 2]) -> Result<Self, BadMessage> {
        match words {
            [0, 0] => Ok(Self::Nothing),
            [1, microset] if microset > 0 => Ok(Self::Record { microset }),
            [2, 0] => Ok(Self::Follow),
            _ => Err(BadMessage::Field("order for a part")),
        }
    }
}

/// What a process does with a part.
#[derive(Debug)]
pub enum Begun {
    /// Nothing.
    Nothing,
    /// It tells through the queue what it does, in microsets of so many pages.
    Record {
        /// The queue.
        queue: OwnedFd,
        /// Most pages in a microset, at least 1.
        microset: u32,
    },
    /// It follows this tape.
    Follow(OwnedFd),
}

/// Asks the supervisor at the other end of `session` what to do with a part.
///
/// Blocks until it answers, which takes as long as the tape takes to be prepared. Allocates
/// nothing.
///
/// # Errors
/// If the supervisor is gone, or its answer makes no sense.
pub fn begin_part(session: BorrowedFd<'_>, begin: BeginPart) -> Result<Begun, ControlError> {
    let mut buffer = [0; MAX_MESSAGE];
    let (len, [companion, ..]) = ask(session, &Message::BeginPart(begin), &mut buffer)?;
    let order = match Message::decode(&buffer[..len])? {
        Message::PartOrder(order) => order,
        Message::Refusal(refusal) => return Err(ControlError::Refused(refusal)),
        other => return Err(BadMessage::Kind(other.kind()).into()),
    };
    match (order, companion) {
        (PartOrder::Nothing, _) => Ok(Begun::Nothing),
        (PartOrder::Record { microset }, Some(queue)) => Ok(Begun::Record { queue, microset }),
        (PartOrder::Follow, Some(tape)) => Ok(Begun::Follow(tape)),
        (_, None) => Err(ControlError::NoDescriptors),
    }
}

/// Tells the supervisor at the other end of `session` that the part begun last is over.
///
/// # Errors
/// If the supervisor is gone.
pub fn end_part(session: BorrowedFd<'_>) -> Result<(), ControlError> {
    let mut buffer = [0; MAX_MESSAGE];
    let bytes = Message::EndPart.encode(&mut buffer)?;
    socket::send(session, bytes, &[]).map_err(|error| ControlError::Broken("ending a part", error))
}
