//! The messages and their bytes.
//!
//! Every message starts with a magic word, the protocol version and its kind. This header, and the
//! whole of a refusal, keep their layout in all versions, so that two ends of different versions
//! can tell each other so. All numbers are little-endian.

use std::fmt;

use thiserror::Error;

use super::limit::{LimitState, OrderLimit};
use super::part::{BeginPart, PartOrder};

/// Version of the protocol spoken by this build.
pub const VERSION: u16 = 1;

/// Upper bound on the bytes of every message but the figures of a run.
pub const MAX_MESSAGE: usize = 256;

/// Upper bound on the JSON text that answers [`Watch`], in bytes.
pub const MAX_FIGURES: usize = 60 * 1024;

const MAGIC: [u8; 4] = *b"FsCt";
const HEADER: usize = 8;

const HELLO: u16 = 1;
const WELCOME: u16 = 2;
const REFUSAL: u16 = 3;
const WATCH: u16 = 4;
const FIGURES: u16 = 5;
const BEGIN_PART: u16 = 6;
const PART_ORDER: u16 = 7;
const END_PART: u16 = 8;
const ORDER_LIMIT: u16 = 9;
const LIMIT_STATE: u16 = 10;

/// Why bytes are not a message.
#[derive(Copy, Clone, Debug, Error, PartialEq, Eq)]
pub enum BadMessage {
    /// The magic word is missing.
    #[error("not a Farside control message")]
    Magic,
    /// The other end speaks another version.
    #[error(
        "the other end speaks version {0} of the control protocol, this one version {VERSION}: \
         use `farside` and `libfarside.so` of the same release"
    )]
    Version(u16),
    /// A kind this version does not know, or one that does not belong here.
    #[error("unexpected message of kind {0}")]
    Kind(u16),
    /// The length does not fit the kind.
    #[error("message of wrong length")]
    Length,
    /// A field holds a value that makes no sense.
    #[error("message with an impossible {0}")]
    Field(&'static str),
}

/// The name of a program, cut to what fits into a message. Any bytes are allowed.
#[derive(Copy, Clone, PartialEq, Eq)]
pub struct ProgramName {
    bytes: [u8; Self::MAX],
    len: u8,
}

impl ProgramName {
    /// Most bytes kept of a name.
    pub const MAX: usize = 128;

    /// Keeps the first [`MAX`](Self::MAX) bytes of `name`.
    pub fn new(name: &[u8]) -> Self {
        let len = name.len().min(Self::MAX);
        let mut bytes = [0; Self::MAX];
        bytes[..len].copy_from_slice(&name[..len]);
        Self { bytes, len: len as u8 }
    }

    /// The bytes that were kept.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl fmt::Display for ProgramName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().escape_ascii().fmt(f)
    }
}

impl fmt::Debug for ProgramName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// A process presents itself to the supervisor.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Its process id, as it sees it.
    pub pid: u32,
    /// The process id of its parent.
    pub parent_pid: u32,
    /// The managed process whose far memory it inherited by `fork`, if any.
    pub fork_of: Option<u32>,
    /// What it runs.
    pub program: ProgramName,
}

/// The supervisor's answer to [`Hello`]; comes with the descriptors of counters block and node, and
/// of a queue if the process is to be recorded, or of a tape if it is to follow one.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Welcome {
    /// How many bytes of the counters block may be mapped.
    pub counters_len: u32,
    /// Number of the process within the run, from 0.
    pub index: u32,
    /// Process id of the supervisor.
    pub supervisor_pid: u32,
}

/// Why the supervisor sends a process away.
#[derive(Copy, Clone, Debug, Error, PartialEq, Eq)]
pub enum Refusal {
    /// Another protocol version.
    #[error("it speaks version {0} of the control protocol and this one speaks version {VERSION}")]
    Version(u16),
    /// It did not understand what it received.
    #[error("it did not understand the request")]
    Malformed,
    /// The process belongs to another user.
    #[error("the process belongs to another user")]
    ForeignUser,
    /// The memory node is gone.
    #[error("the memory node is gone")]
    NodeGone,
    /// Out of descriptors or memory.
    #[error("it ran out of descriptors or memory")]
    Exhausted,
    /// A reason this version does not know.
    #[error("reason {0}")]
    Other(u16),
}

/// Asks the supervisor for the figures of the run so far.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Watch;

/// Any message.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// See [`Hello`].
    Hello(Hello),
    /// See [`Welcome`].
    Welcome(Welcome),
    /// See [`Refusal`].
    Refusal(Refusal),
    /// See [`Watch`].
    Watch(Watch),
    /// JSON text, the answer to [`Watch`].
    Figures(&'a str),
    /// See [`BeginPart`].
    BeginPart(BeginPart),
    /// See [`PartOrder`].
    PartOrder(PartOrder),
    /// The part that was begun last is over.
    EndPart,
    /// See [`OrderLimit`].
    OrderLimit(OrderLimit),
    /// See [`LimitState`].
    LimitState(LimitState),
}

impl<'a> Message<'a> {
    /// Writes the message to the front of `buffer` and returns the bytes to send.
    ///
    /// `buffer` holds at least [`MAX_MESSAGE`] bytes, for figures [`MAX_FIGURES`] more. Figures
    /// beyond that are refused.
    pub fn encode<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b [u8], BadMessage> {
        let mut out = Writer { buffer, at: 0 };
        out.put(&MAGIC)?;
        out.put(&VERSION.to_le_bytes())?;
        match self {
            Message::Hello(hello) => {
                let name = hello.program.as_bytes();
                out.put(&HELLO.to_le_bytes())?;
                out.put(&hello.pid.to_le_bytes())?;
                out.put(&hello.parent_pid.to_le_bytes())?;
                out.put(&hello.fork_of.unwrap_or(0).to_le_bytes())?;
                out.put(&(name.len() as u32).to_le_bytes())?;
                out.put(name)?;
            }
            Message::Welcome(welcome) => {
                out.put(&WELCOME.to_le_bytes())?;
                out.put(&welcome.counters_len.to_le_bytes())?;
                out.put(&welcome.index.to_le_bytes())?;
                out.put(&welcome.supervisor_pid.to_le_bytes())?;
            }
            Message::Refusal(refusal) => {
                out.put(&REFUSAL.to_le_bytes())?;
                out.put(&refusal.code().to_le_bytes())?;
            }
            Message::Watch(Watch) => out.put(&WATCH.to_le_bytes())?,
            Message::Figures(text) => {
                if text.len() > MAX_FIGURES {
                    return Err(BadMessage::Length);
                }
                out.put(&FIGURES.to_le_bytes())?;
                out.put(text.as_bytes())?;
            }
            Message::BeginPart(begin) => {
                out.put(&BEGIN_PART.to_le_bytes())?;
                begin.words().iter().try_for_each(|word| out.put(&word.to_le_bytes()))?;
            }
            Message::PartOrder(order) => {
                out.put(&PART_ORDER.to_le_bytes())?;
                order.words().iter().try_for_each(|word| out.put(&word.to_le_bytes()))?;
            }
            Message::EndPart => out.put(&END_PART.to_le_bytes())?,
            Message::OrderLimit(order) => {
                out.put(&ORDER_LIMIT.to_le_bytes())?;
                out.put(&order.bytes.unwrap_or(0).to_le_bytes())?;
            }
            Message::LimitState(state) => {
                out.put(&LIMIT_STATE.to_le_bytes())?;
                state.words().iter().try_for_each(|word| out.put(&word.to_le_bytes()))?;
            }
        }
        let Writer { buffer, at } = out;
        Ok(&buffer[..at])
    }

    /// Reads one message, which fills `bytes` exactly.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, BadMessage> {
        let mut input = Reader { bytes };
        if bytes.len() < HEADER || input.take::<4>()? != MAGIC {
            return Err(BadMessage::Magic);
        }
        let version = input.u16()?;
        let kind = input.u16()?;
        if kind == REFUSAL {
            return Refusal::from_code(input.u16()?, version).map(Message::Refusal);
        }
        if version != VERSION {
            return Err(BadMessage::Version(version));
        }
        let message = match kind {
            HELLO => Message::Hello(Hello {
                pid: input.pid("process id")?,
                parent_pid: input.u32()?,
                fork_of: input.optional_pid()?,
                program: input.program()?,
            }),
            WELCOME => Message::Welcome(Welcome {
                counters_len: input.u32()?,
                index: input.u32()?,
                supervisor_pid: input.pid("supervisor")?,
            }),
            WATCH => Message::Watch(Watch),
            FIGURES => Message::Figures(input.text()?),
            BEGIN_PART => {
                let words = [input.u32()?, input.u32()?, input.u32()?, input.u32()?];
                Message::BeginPart(BeginPart::from_words(words)?)
            }
            PART_ORDER => Message::PartOrder(PartOrder::from_words([input.u32()?, input.u32()?])?),
            END_PART => Message::EndPart,
            ORDER_LIMIT => {
                let bytes = Some(input.u64()?).filter(|bytes| *bytes > 0);
                Message::OrderLimit(OrderLimit { bytes })
            }
            LIMIT_STATE => {
                let words = [input.u64()?, input.u64()?, input.u64()?, input.u64()?, input.u64()?];
                Message::LimitState(LimitState::from_words(words)?)
            }
            other => return Err(BadMessage::Kind(other)),
        };
        if input.bytes.is_empty() { Ok(message) } else { Err(BadMessage::Length) }
    }

    /// The kind as it stands in the header; for error messages.
    pub fn kind(&self) -> u16 {
        match self {
            Message::Hello(_) => HELLO,
            Message::Welcome(_) => WELCOME,
            Message::Refusal(_) => REFUSAL,
            Message::Watch(_) => WATCH,
            Message::Figures(_) => FIGURES,
            Message::BeginPart(_) => BEGIN_PART,
            Message::PartOrder(_) => PART_ORDER,
            Message::EndPart => END_PART,
            Message::OrderLimit(_) => ORDER_LIMIT,
            Message::LimitState(_) => LIMIT_STATE,
        }
    }
}

impl Refusal {
    fn code(self) -> u16 {
        match self {
            Refusal::Version(_) => 1,
            Refusal::Malformed => 2,
            Refusal::ForeignUser => 3,
            Refusal::NodeGone => 4,
            Refusal::Exhausted => 5,
            Refusal::Other(code) => code,
        }
    }

    fn from_code(code: u16, version: u16) -> Result<Self, BadMessage> {
        Ok(match code {
            0 => return Err(BadMessage::Field("reason")),
            1 => Refusal::Version(version),
            2 => Refusal::Malformed,
            3 => Refusal::ForeignUser,
            4 => Refusal::NodeGone,
            5 => Refusal::Exhausted,
            other => Refusal::Other(other),
        })
    }
}

struct Writer<'b> {
    buffer: &'b mut [u8],
    at: usize,
}

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), BadMessage> {
        let end = self.at + bytes.len();
        self.buffer.get_mut(self.at..end).ok_or(BadMessage::Length)?.copy_from_slice(bytes);
        self.at = end;
        Ok(())
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], BadMessage> {
        let (head, rest) = self.bytes.split_first_chunk::<N>().ok_or(BadMessage::Length)?;
        self.bytes = rest;
        Ok(*head)
    }

    fn u16(&mut self) -> Result<u16, BadMessage> {
        self.take().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, BadMessage> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, BadMessage> {
        self.take().map(u64::from_le_bytes)
    }

    /// A process id: positive and within the range of `pid_t`.
    fn pid(&mut self, field: &'static str) -> Result<u32, BadMessage> {
        match self.u32()? {
            pid if pid > 0 && pid <= i32::MAX as u32 => Ok(pid),
            _ => Err(BadMessage::Field(field)),
        }
    }

    fn optional_pid(&mut self) -> Result<Option<u32>, BadMessage> {
        match self.u32()? {
            0 => Ok(None),
            pid if pid <= i32::MAX as u32 => Ok(Some(pid)),
            _ => Err(BadMessage::Field("process forked from")),
        }
    }

    fn program(&mut self) -> Result<ProgramName, BadMessage> {
        let len = self.u32()? as usize;
        if len > ProgramName::MAX || len != self.bytes.len() {
            return Err(BadMessage::Length);
        }
        let name = ProgramName::new(self.bytes);
        self.bytes = &[];
        Ok(name)
    }

    fn text(&mut self) -> Result<&'a str, BadMessage> {
        if self.bytes.len() > MAX_FIGURES {
            return Err(BadMessage::Length);
        }
        let text = std::str::from_utf8(self.bytes).map_err(|_| BadMessage::Field("text"))?;
        self.bytes = &[];
        Ok(text)
    }
}
