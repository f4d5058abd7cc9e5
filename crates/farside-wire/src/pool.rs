//! Messages between a program and the embedded memory node.
//!
//! A program reaches its pages in the node's shared memory directly; these messages only say where
//! that memory is, who uses it, and where [orders](crate::orders) come from. Each is one packet of
//! [`LEN`] bytes, little-endian: magic (4), version (2), kind (2), 16 bytes of arguments;
//! descriptors travel beside it.

use thiserror::Error;

/// Bytes in a unit of the node's memory; a stored page occupies one to four units.
pub const UNIT: usize = 1024;

/// Most units a pool can have; bounds the entries of the page map to 30 bits of unit number.
pub const MAX_UNITS: u64 = 1 << 30;

/// Bytes of the data file.
pub const DATA_BYTES: u64 = MAX_UNITS * UNIT as u64;

/// The first unit that is ever used: an entry of 0 is none.
pub const FIRST_UNIT: u64 = 4;

/// Bytes before the counts in the file of reference counts; the first eight are the number of the next
/// unit that was never used.
pub const REFS_HEADER: usize = 4096;

/// Bytes of the file of reference counts: the header, then 16 bits for each unit.
pub const REFS_BYTES: u64 = REFS_HEADER as u64 + MAX_UNITS * 2;

/// Most pages of a far region, which bounds the page map: 4 bytes for each.
pub const MAX_PAGES: u64 = 1 << 28;

/// An entry of the page map: 0 if the page is not stored, else the first unit of its block in the upper
/// 30 bits and the number of its units less one in the lower two.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// First unit; never 0.
    pub unit: u32,
    /// 1 to 4.
    pub units: u32,
}

impl Block {
    /// The entry that stands for this block.
    pub fn pack(self) -> u32 {
        self.unit << 2 | (self.units - 1)
    }

    /// The block that an entry stands for.
    pub fn unpack(entry: u32) -> Option<Self> {
        (entry != 0).then_some(Self { unit: entry >> 2, units: (entry & 3) + 1 })
    }

    /// Offset of the block in the data file.
    pub fn offset(self) -> u64 {
        u64::from(self.unit) * UNIT as u64
    }

    /// Length of the block in bytes.
    pub fn bytes(self) -> u64 {
        u64::from(self.units) * UNIT as u64
    }
}

/// Bytes in a message.
pub const LEN: usize = 24;

/// Version of this protocol; both ends must agree.
pub const VERSION: u16 = 3;

const MAGIC: u32 = u32::from_le_bytes(*b"FSPL");

/// A message.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Supervisor to node, with the client's socket: a process wants a pool; `fork_of` is its parent
    /// if it shares the parent's pool, else 0.
    Attach {
        /// Process that will use the socket.
        pid: u32,
        /// Parent whose pages the process inherited, or 0.
        fork_of: u32,
    },
    /// Node to program, with the data file, the reference counts and the page map: a new pool.
    Pool {
        /// What the program, and those it forks, call their pool at nodes across a network.
        name: u128,
    },
    /// Node to a forked program: its parent's pool is known and will be kept for it.
    Joined,
    /// Forked program to node, with its page map.
    Map,
    /// Program to node, with memory for orders and the descriptor of its region: the node is to move pages by
    /// itself.
    Orders,
    /// Program to node, with a connection: the program's functions are to be run where its pages are, by who answers
    /// [requests](crate::offload) there.
    Offload,
    /// Node to program: refused; `reason` is an errno.
    Refused {
        /// Errno that says why.
        reason: u32,
    },
}

/// Bytes that are not a message.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
pub enum BadMessage {
    /// Wrong length.
    #[error("message of {0} bytes instead of {LEN}")]
    Length(usize),
    /// Not this protocol.
    #[error("not a memory node's message")]
    Magic,
    /// Another version.
    #[error(
        "protocol version {0} instead of {VERSION}: program and node come from different builds"
    )]
    Version(u16),
    /// Unknown kind.
    #[error("unknown message kind {0}")]
    Kind(u16),
}

impl Message {
    /// The message's bytes.
    pub fn encode(self) -> [u8; LEN] {
        let (kind, arguments) = match self {
            Message::Attach { pid, fork_of } => (1u16, u128::from(pid) | u128::from(fork_of) << 32),
            Message::Pool { name } => (2, name),
            Message::Joined => (3, 0),
            Message::Map => (4, 0),
            Message::Refused { reason } => (5, reason.into()),
            Message::Orders => (6, 0),
            Message::Offload => (7, 0),
        };
        let mut bytes = [0; LEN];
        bytes[..4].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[4..6].copy_from_slice(&VERSION.to_le_bytes());
        bytes[6..8].copy_from_slice(&kind.to_le_bytes());
        bytes[8..].copy_from_slice(&arguments.to_le_bytes());
        bytes
    }

    /// Reads a message; never trusts what it is given.
    pub fn decode(bytes: &[u8]) -> Result<Self, BadMessage> {
        let Ok(bytes) = <&[u8; LEN]>::try_from(bytes) else {
            return Err(BadMessage::Length(bytes.len()));
        };
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        if word(0) != MAGIC {
            return Err(BadMessage::Magic);
        }
        if half(4) != VERSION {
            return Err(BadMessage::Version(half(4)));
        }
        match half(6) {
            1 => Ok(Message::Attach { pid: word(8), fork_of: word(12) }),
            2 => {
                let mut name = [0; 16];
                name.copy_from_slice(&bytes[8..]);
                Ok(Message::Pool { name: u128::from_le_bytes(name) })
            }
            3 => Ok(Message::Joined),
            4 => Ok(Message::Map),
            5 => Ok(Message::Refused { reason: word(8) }),
            6 => Ok(Message::Orders),
            7 => Ok(Message::Offload),
            kind => Err(BadMessage::Kind(kind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_the_wire() {
        for message in [
            Message::Attach { pid: 7, fork_of: u32::MAX },
            Message::Pool { name: u128::MAX - 5 },
            Message::Joined,
            Message::Map,
            Message::Refused { reason: 12 },
            Message::Orders,
            Message::Offload,
        ] {
            assert_eq!(Message::decode(&message.encode()), Ok(message));
        }
    }

    #[test]
    fn other_bytes_are_refused() {
        assert_eq!(Message::decode(&[]), Err(BadMessage::Length(0)));
        assert_eq!(Message::decode(&[0; LEN]), Err(BadMessage::Magic));
        let mut bytes = Message::Pool { name: 1 }.encode();
        bytes[4] = 9;
        assert_eq!(Message::decode(&bytes), Err(BadMessage::Version(9)));
        let mut bytes = Message::Pool { name: 1 }.encode();
        bytes[6] = 99;
        assert_eq!(Message::decode(&bytes), Err(BadMessage::Kind(99)));
    }
}
