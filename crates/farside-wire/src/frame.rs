//! Messages between a far store and a memory node across a network.
//!
//! A client founds a *pool* on a node, or joins one that it or a process it forked from has founded there, and keeps
//! pages in it by the numbers of their *slots*. A message is a header of [`HEADER`] bytes, then `count` records of
//! [`RECORD`] bytes, then `pages` pages of 4 KiB, or as many blocks of 64 bytes where [parts](crate::page_part) of pages are
//! moved; all numbers are little-endian:
//!
//! | bytes | header | bytes | record |
//! |---|---|---|---|
//! | 0-3 | magic `FSN` and the version | 0-7 | slot |
//! | 4 | kind | 8-15 | version of the page |
//! | 5 | flags | 16-19 | CRC32C of the page |
//! | 6-7 | code: what became of the request | 20-23 | code: what became of this page |
//! | 8-15 | id: chosen by the client, repeated in the reply | | |
//! | 16-23 | epoch of the pool | | |
//! | 24-25 | count of records | | |
//! | 26-27 | pages that follow them | | |
//! | 28-31 | CRC32C of all before, and of the records | | |
//!
//! | request | its records | its pages | reply: records | pages |
//! |---|---|---|---|---|
//! | Hello | one: low and high half of the pool's name, 0, lease in ms | | one: bytes the node has in all, and free, what it [can do](PARTS), lease | |
//! | Read | slot and version wanted | | one for each, in order | of those whose code is `Done` |
//! | Write | slot, version, CRC32C, 0 | one for each | none, or one for each if some were not stored | |
//! | Free | first slot, version that younger pages are kept from, and in place of the CRC32C the number of slots | | | |
//! | Ping | | | as of Hello | |
//! | Stats | | | one for each [figure](crate::figures): its number in place of the slot, its value in place of the version | |
//! | ReadParts | [a part](crate::page_part) each | | one for each, in order | blocks of those whose code is `Done` |
//! | WriteParts | [a part](crate::page_part) each | blocks of each | none, or one for each if some were not stored | |
//! | Leave | | | none; the pool goes as soon as no connection has it | |
//! | Offload | | | none; from then on the connection carries [requests to run functions](crate::offload), in which content lies at its slot, times 4 KiB | |
//!
//! The node names the epoch in its reply to Hello: it is another one for each pool it founds, so that a client knows by
//! it whether its pages are still there. Requests of another epoch are refused. Versions of a pool's pages only grow: a
//! page does not take the place of a younger one in its slot, so that a message that comes late does no harm. Replies come in the order of the requests
//! of their connection. Whatever a node cannot make sense of ends the connection.

use std::io;

use thiserror::Error;

/// Bytes of a header.
pub const HEADER: usize = 32;

/// Bytes of a record.
pub const RECORD: usize = 24;

/// Most records, and most pages, in a message.
pub const MOST: usize = 64;

/// Most bytes of a message before its pages.
pub const MOST_HEAD: usize = HEADER + MOST * RECORD;

/// Version of this protocol.
pub const VERSION: u8 = 1;

const MAGIC: [u8; 4] = [b'F', b'S', b'N', VERSION];

/// What is asked; a reply repeats it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Found a pool or join it.
    Hello = 1,
    /// Send pages.
    Read = 2,
    /// Keep pages.
    Write = 3,
    /// Forget pages.
    Free = 4,
    /// Say how you are.
    Ping = 5,
    /// Say all that you count.
    Stats = 6,
    /// Run functions: from the reply on, if it is `Done`, the connection carries [other messages](crate::offload).
    Offload = 7,
    /// Send parts of pages.
    ReadParts = 8,
    /// Store parts of pages that are kept.
    WriteParts = 9,
    /// Forget all pages as soon as no connection has the pool: its processes are gone.
    Leave = 10,
}

/// Bytes of a block, in which parts of pages are counted.
pub const BLOCK: usize = 64;

/// Bytes of a page.
const PAGE: usize = 4096;

/// What became of a request or of one of its pages.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Code {
    /// It was done.
    #[default]
    Done = 0,
    /// Nothing is stored there.
    Missing = 1,
    /// Something else is stored there than what was asked for.
    OtherVersion = 2,
    /// What arrived is not what was sent.
    Damaged = 3,
    /// There is no room.
    Full = 4,
    /// The pool is not there any more.
    OtherEpoch = 5,
    /// This client may not have a pool here.
    Denied = 6,
    /// The request makes no sense.
    Senseless = 7,
}

/// A bit of what a node can do: it moves parts of pages.
pub const PARTS: u32 = 1;

/// A bit of what a node can do: it can be told that the processes of a pool are gone.
pub const LEAVING: u32 = 2;

/// A bit of the header's flags: the node is about to end, and takes nothing new.
pub const DRAINING: u8 = 1;

/// The first part of a message.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// What is asked.
    pub kind: Kind,
    /// [`DRAINING`], in replies.
    pub flags: u8,
    /// What became of it, in replies.
    pub code: Code,
    /// Names the request.
    pub id: u64,
    /// Names the pool that the node has founded.
    pub epoch: u64,
    /// Number of records, at most [`MOST`].
    pub count: u16,
    /// Number of pages, at most [`MOST`], or of blocks, at most as many as they have.
    pub pages: u16,
}

/// What is said of a page.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Slot of the page.
    pub slot: u64,
    /// Version of its content.
    pub version: u64,
    /// CRC32C of the content as it is stored.
    pub check: u32,
    /// What became of it, in replies.
    pub code: u32,
}

/// Bytes that are no message of this protocol.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
pub enum BadFrame {
    /// Something else.
    #[error("not a message of a memory node's protocol")]
    Magic,
    /// Another version.
    #[error(
        "version {0} of the memory node's protocol instead of {VERSION}; client and node come from different builds"
    )]
    Version(u8),
    /// Unknown kind, flags or code.
    #[error("unknown {what} {value} in a message")]
    Unknown {
        /// Part of the header.
        what: &'static str,
        /// What stands there.
        value: u16,
    },
    /// Too many records or pages.
    #[error("{0} records and {1} pages or blocks in a message, which are more than there can be")]
    TooLong(u16, u16),
    /// Changed on its way.
    #[error("a message was damaged on its way")]
    Damaged,
}

impl From<BadFrame> for io::Error {
    fn from(error: BadFrame) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

impl Kind {
    fn decode(value: u8) -> Option<Self> {
        Some(match value {
            1 => Self::Hello,
            2 => Self::Read,
            3 => Self::Write,
            4 => Self::Free,
            5 => Self::Ping,
            6 => Self::Stats,
            7 => Self::Offload,
            8 => Self::ReadParts,
            9 => Self::WriteParts,
            10 => Self::Leave,
            _ => return None,
        })
    }

    /// Bytes of what the header counts as a page.
    pub fn unit(self) -> usize {
        if matches!(self, Self::ReadParts | Self::WriteParts) { BLOCK } else { PAGE }
    }
}

impl Code {
    /// What a number stands for.
    pub fn decode(value: u16) -> Option<Self> {
        Some(match value {
            0 => Self::Done,
            1 => Self::Missing,
            2 => Self::OtherVersion,
            3 => Self::Damaged,
            4 => Self::Full,
            5 => Self::OtherEpoch,
            6 => Self::Denied,
            7 => Self::Senseless,
            _ => return None,
        })
    }
}

impl Record {
    /// What became of the page; an unknown code is [`Code::Senseless`].
    pub fn outcome(&self) -> Code {
        u16::try_from(self.code).ok().and_then(Code::decode).unwrap_or(Code::Senseless)
    }

    fn put(&self, into: &mut [u8]) {
        into[..8].copy_from_slice(&self.slot.to_le_bytes());
        into[8..16].copy_from_slice(&self.version.to_le_bytes());
        into[16..20].copy_from_slice(&self.check.to_le_bytes());
        into[20..24].copy_from_slice(&self.code.to_le_bytes());
    }

    fn get(bytes: &[u8]) -> Self {
        Self {
            slot: long(bytes, 0),
            version: long(bytes, 8),
            check: word(bytes, 16),
            code: word(bytes, 20),
        }
    }
}

impl Header {
    /// A request about `count` pages, without the pages themselves.
    pub fn request(kind: Kind, id: u64, epoch: u64) -> Self {
        Self { kind, flags: 0, code: Code::Done, id, epoch, count: 0, pages: 0 }
    }

    /// The reply to this request, if it was done.
    pub fn reply(self) -> Self {
        Self { flags: 0, code: Code::Done, count: 0, pages: 0, ..self }
    }

    /// Bytes of the records behind the header.
    pub fn records_len(&self) -> usize {
        usize::from(self.count) * RECORD
    }

    /// Bytes of the pages or blocks behind the records.
    pub fn content_len(&self) -> usize {
        usize::from(self.pages) * self.kind.unit()
    }

    /// Writes header and records to the front of `into`, which holds at least [`MOST_HEAD`] bytes; returns how many
    /// bytes they are. The number of records is set.
    ///
    /// # Panics
    /// If there are more than [`MOST`] records.
    pub fn encode(mut self, records: &[Record], into: &mut [u8]) -> usize {
        assert!(records.len() <= MOST, "{} records", records.len());
        self.count = records.len() as u16;
        into[..4].copy_from_slice(&MAGIC);
        into[4] = self.kind as u8;
        into[5] = self.flags;
        into[6..8].copy_from_slice(&(self.code as u16).to_le_bytes());
        into[8..16].copy_from_slice(&self.id.to_le_bytes());
        into[16..24].copy_from_slice(&self.epoch.to_le_bytes());
        into[24..26].copy_from_slice(&self.count.to_le_bytes());
        into[26..28].copy_from_slice(&self.pages.to_le_bytes());
        let end = HEADER + records.len() * RECORD;
        for (record, into) in records.iter().zip(into[HEADER..end].chunks_exact_mut(RECORD)) {
            record.put(into);
        }
        let check = check_of(&into[..end]);
        into[28..32].copy_from_slice(&check.to_le_bytes());
        end
    }

    /// Reads the header that a message begins with; its content is to be trusted only after
    /// [`records`](Self::records).
    ///
    /// # Errors
    /// If it is no message of this protocol, or longer than any.
    pub fn decode(bytes: &[u8; HEADER]) -> Result<Self, BadFrame> {
        if bytes[..3] != MAGIC[..3] {
            return Err(BadFrame::Magic);
        }
        if bytes[3] != VERSION {
            return Err(BadFrame::Version(bytes[3]));
        }
        let unknown = |what, value| BadFrame::Unknown { what, value };
        let kind = Kind::decode(bytes[4]).ok_or_else(|| unknown("kind", bytes[4].into()))?;
        let flags = bytes[5];
        if flags & !DRAINING != 0 {
            return Err(unknown("flag", flags.into()));
        }
        let code = half(bytes, 6);
        let code = Code::decode(code).ok_or_else(|| unknown("code", code))?;
        let (count, pages) = (half(bytes, 24), half(bytes, 26));
        if usize::from(count) > MOST || usize::from(pages) * kind.unit() > MOST * PAGE {
            return Err(BadFrame::TooLong(count, pages));
        }
        Ok(Self { kind, flags, code, id: long(bytes, 8), epoch: long(bytes, 16), count, pages })
    }

    /// Reads the records of the message that starts with `head`: the header, and the records behind it.
    ///
    /// # Errors
    /// If header or records were changed on their way.
    pub fn records<'a>(
        &self,
        head: &'a [u8],
    ) -> Result<impl ExactSizeIterator<Item = Record> + 'a, BadFrame> {
        let end = HEADER + self.records_len();
        let head = head.get(..end).ok_or(BadFrame::Damaged)?;
        if check_of(head) != word(head, 28) {
            return Err(BadFrame::Damaged);
        }
        Ok(head[HEADER..].chunks_exact(RECORD).map(Record::get))
    }
}

/// CRC32C of header and records but for the place where it stands.
fn check_of(head: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&head[..28]), &head[HEADER..])
}

/// CRC32C of a page.
pub fn page_check(page: &[u8]) -> u32 {
    crc32c::crc32c(page)
}

/// What a node says of itself in reply to Hello and Ping, and a client in Hello.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Vitals {
    /// Bytes for pages that the node has.
    pub total: u64,
    /// Of these, bytes that are free.
    pub free: u64,
    /// By bits, what it can do beside what all nodes can: [`PARTS`].
    pub can: u32,
    /// How long it keeps the pages of a client that is gone, in milliseconds.
    pub lease_ms: u32,
}

impl Vitals {
    /// The record that says this.
    pub fn record(self) -> Record {
        Record { slot: self.total, version: self.free, check: self.can, code: self.lease_ms }
    }

    /// What a record says.
    pub fn of(record: Record) -> Self {
        let Record { slot: total, version: free, check: can, code: lease_ms } = record;
        Self { total, free, can, lease_ms }
    }
}

/// The record of a Hello.
pub fn hello(pool: u128, lease_ms: u32) -> Record {
    Record { slot: pool as u64, version: (pool >> 64) as u64, check: 0, code: lease_ms }
}

/// The pool's name and the lease that a Hello asks for.
pub fn of_hello(record: Record) -> (u128, u32) {
    (u128::from(record.version) << 64 | u128::from(record.slot), record.code)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn record() -> impl Strategy<Value = Record> {
        (any::<u64>(), any::<u64>(), any::<u32>(), 0u32..8)
            .prop_map(|(slot, version, check, code)| Record { slot, version, check, code })
    }

    fn message() -> impl Strategy<Value = (Header, Vec<Record>)> {
        let header = (1u8..11, 0u8..2, 0u16..8, any::<u64>(), any::<u64>(), 0..=MOST as u16);
        (header, prop::collection::vec(record(), 0..=MOST)).prop_map(|(header, records)| {
            let (kind, flags, code, id, epoch, pages) = header;
            let kind = Kind::decode(kind).unwrap();
            let code = Code::decode(code).unwrap();
            let count = records.len() as u16;
            let pages = pages * (PAGE / kind.unit()) as u16;
            (Header { kind, flags, code, id, epoch, count, pages }, records)
        })
    }

    fn read(bytes: &[u8]) -> Result<(Header, Vec<Record>), BadFrame> {
        let start = bytes.first_chunk::<HEADER>().ok_or(BadFrame::Damaged)?;
        let header = Header::decode(start)?;
        Ok((header, header.records(bytes)?.collect()))
    }

    proptest! {
        #[test]
        fn messages_survive_the_wire((header, records) in message()) {
            let mut bytes = [0; MOST_HEAD];
            let len = header.encode(&records, &mut bytes);
            prop_assert_eq!(read(&bytes[..len]), Ok((header, records)));
        }

        #[test]
        fn a_turned_bit_is_found((header, records) in message(), bit: prop::sample::Index) {
            let mut bytes = [0; MOST_HEAD];
            let len = header.encode(&records, &mut bytes);
            let bit = bit.index(len * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(read(&bytes).is_err());
        }

        #[test]
        fn any_bytes_are_a_message_or_none(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
            let mut likely = bytes.clone();
            likely.splice(..likely.len().min(4), MAGIC);
            let _ = read(&likely);
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let mut bytes = [0; MOST_HEAD];
        let header = Header::request(Kind::Ping, 1, 2);
        let mut wrong = |at: usize, value: u8| {
            header.encode(&[], &mut bytes);
            bytes[at] = value;
            read(&bytes).map(drop)
        };
        assert_eq!(wrong(0, b'X'), Err(BadFrame::Magic));
        assert_eq!(wrong(3, 9), Err(BadFrame::Version(9)));
        assert_eq!(wrong(4, 99), Err(BadFrame::Unknown { what: "kind", value: 99 }));
        assert_eq!(wrong(5, 4), Err(BadFrame::Unknown { what: "flag", value: 4 }));
        assert_eq!(wrong(7, 1), Err(BadFrame::Unknown { what: "code", value: 256 }));
        assert_eq!(wrong(24, 65), Err(BadFrame::TooLong(65, 0)));
        assert_eq!(wrong(26, 65), Err(BadFrame::TooLong(0, 65)));
        assert_eq!(wrong(8, 9), Err(BadFrame::Damaged));
    }

    #[test]
    fn blocks_are_no_more_than_pages_would_be() {
        let mut bytes = [0; MOST_HEAD];
        let mut len = |pages| {
            let header = Header { pages, ..Header::request(Kind::WriteParts, 1, 2) };
            header.encode(&[], &mut bytes);
            read(&bytes).map(|(header, _)| header.content_len())
        };
        assert_eq!(len(4096), Ok(MOST * PAGE));
        assert_eq!(len(4097), Err(BadFrame::TooLong(0, 4097)));
    }
}
