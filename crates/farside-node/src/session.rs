//! One connection of a client: its requests are answered one after the other.

use std::io::{self, IoSlice, IoSliceMut};
use std::sync::Arc;

use farside_os::memory::PAGE;
use farside_wire::figures;
use farside_wire::frame::{
    Code, DRAINING, HEADER, Header, Kind, MOST, MOST_HEAD, RECORD, Record, of_hello, page_check,
};
use farside_wire::page_part::PagePart;
use farside_wire::transport::{Buffered, Patience, Stream, send_all};
use smallvec::SmallVec;

use crate::counters::Counters;
use crate::frames::Pinned;
use crate::network::{Node, Seat};
use crate::offload::Relay;
use crate::pool::Pool;

/// How long a client may take to say who it is.
pub(crate) const HELLO_NS: u64 = 5_000_000_000;

/// How long the rest of a message, or room for a reply, may take to come.
pub(crate) const REST: Patience = Patience::of(0, 30_000_000_000);

/// A connection.
pub struct Session {
    pub(crate) node: Arc<Node>,
    pub(crate) stream: Box<dyn Stream>,
    pub(crate) arrived: Buffered,
    pub(crate) seat: Option<Seat>,
    /// Header and records of a request, or of a reply.
    pub(crate) head: Box<[u8; MOST_HEAD]>,
    pub(crate) records: Vec<Record>,
    /// Pages of a request for which there are no frames, or parts of pages.
    pub(crate) scratch: Vec<u8>,
}

impl Session {
    /// Takes a connection.
    pub fn new(node: Arc<Node>, stream: Box<dyn Stream>) -> Self {
        let head = Box::new([0; MOST_HEAD]);
        let records = Vec::with_capacity(MOST);
        Self {
            node,
            stream,
            arrived: Buffered::default(),
            seat: None,
            head,
            records,
            scratch: Vec::new(),
        }
    }

    /// Answers requests until the client hangs up.
    ///
    /// # Errors
    /// If the client does not keep to the protocol, or the connection fails.
    pub fn serve(&mut self) -> io::Result<()> {
        loop {
            match self.answer_next() {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => {
                    if error.kind() == io::ErrorKind::InvalidData {
                        Counters::add(&self.node.counters.bad_messages, 1);
                    }
                    self.stream.shut();
                    return Err(error);
                }
            }
        }
    }

    fn answer_next(&mut self) -> io::Result<()> {
        let header = self.receive_head()?;
        Counters::add(&self.node.counters.requests, 1);
        let is_theirs = |seat: &Seat| seat.pool.epoch == header.epoch;
        match (header.kind, &self.seat) {
            (Kind::Hello, None) => self.greet(header),
            (Kind::Hello, Some(_)) | (_, None) => Err(senseless("a request out of turn")),
            (Kind::Write, _) => self.write(header),
            (Kind::WriteParts, _) => self.write_parts(header),
            (_, Some(seat)) if !is_theirs(seat) => {
                self.reply(Header { code: Code::OtherEpoch, ..header.reply() }, &[])
            }
            (Kind::Read, _) => self.read(header),
            (Kind::ReadParts, _) => self.read_parts(header),
            (Kind::Free, _) => self.free(header),
            (Kind::Stats, _) => {
                let figures = figures::records(self.node.figures());
                self.reply(header.reply(), &figures)
            }
            (Kind::Offload, Some(seat)) => {
                let pool = Arc::clone(&seat.pool);
                self.offload(header, &pool)
            }
            (Kind::Leave, Some(seat)) => {
                self.node.leave(seat.name);
                self.reply(header.reply(), &[])
            }
            (Kind::Ping, _) => {
                let vitals = self.node.vitals().record();
                self.reply(header.reply(), &[vitals])
            }
        }
    }

    /// Header and records of the next request; these are in `records` afterwards.
    fn receive_head(&mut self) -> io::Result<Header> {
        let wait_ns = if self.seat.is_some() { u64::MAX } else { HELLO_NS };
        let spin_ns = self.node.options.spin.as_nanos() as u64;
        let patience = Patience::of(spin_ns, wait_ns);
        let start = self.arrived.receive_start::<HEADER>(&*self.stream, patience)?;
        let header = Header::decode(&start)?;
        self.head[..HEADER].copy_from_slice(&start);
        let rest = &mut self.head[HEADER..HEADER + header.records_len()];
        self.arrived.receive_all(&*self.stream, &mut [IoSliceMut::new(rest)], REST)?;
        self.records.clear();
        self.records.extend(header.records(&self.head[..])?);
        let expected = match header.kind {
            Kind::Write => usize::from(header.count) * PAGE,
            Kind::WriteParts => self.parts()?.iter().map(PagePart::len).sum(),
            _ => 0,
        };
        if header.content_len() == expected {
            Ok(header)
        } else {
            Err(senseless("pages without records"))
        }
    }

    fn greet(&mut self, header: Header) -> io::Result<()> {
        let [hello] = self.records[..] else { return Err(senseless("a hello without a name")) };
        let (name, lease_ms) = of_hello(hello);
        match self.node.seat(name, lease_ms) {
            Ok(seat) => {
                let epoch = seat.pool.epoch;
                self.seat = Some(seat);
                let vitals = self.node.vitals().record();
                self.reply(Header { epoch, ..header.reply() }, &[vitals])
            }
            Err(code) => {
                self.reply(Header { code, ..header.reply() }, &[])?;
                Err(io::ErrorKind::UnexpectedEof.into())
            }
        }
    }

    /// Sends a reply without pages.
    pub(crate) fn reply(&mut self, header: Header, records: &[Record]) -> io::Result<()> {
        let flags = if self.node.is_draining() { DRAINING } else { 0 };
        let len = Header { flags, ..header }.encode(records, &mut self.head[..]);
        let mut parts = [IoSlice::new(&self.head[..len])];
        send_all(&*self.stream, &mut parts, REST, || Ok(()))
    }

    fn read(&mut self, header: Header) -> io::Result<()> {
        let node = Arc::clone(&self.node);
        let Some(seat) = &self.seat else { return Ok(()) };
        let mut pinned: SmallVec<[Pinned<'_>; 2]> = SmallVec::with_capacity(self.records.len());
        for record in &mut self.records {
            match seat.pool.read(&node.frames, record.slot, record.version) {
                Ok(page) => {
                    *record = Record { check: page.check(), code: 0, ..*record };
                    pinned.push(page);
                }
                Err(code) => record.code = u32::from(code as u16),
            }
        }
        let missed = self.records.len() - pinned.len();
        Counters::add(&node.counters.pages_read, pinned.len() as u64);
        Counters::add(&node.counters.pages_missed, missed as u64);
        let flags = if node.is_draining() { DRAINING } else { 0 };
        let reply = Header { flags, pages: pinned.len() as u16, ..header.reply() };
        let len = reply.encode(&self.records, &mut self.head[..]);
        let mut parts: SmallVec<[IoSlice<'_>; 2]> = SmallVec::with_capacity(1 + pinned.len());
        parts.push(IoSlice::new(&self.head[..len]));
        parts.extend(pinned.iter().map(|page| IoSlice::new(page.bytes())));
        send_all(&*self.stream, &mut parts, REST, || Ok(()))
    }

    /// Takes pages straight into frames, or aside where there are none.
    fn write(&mut self, header: Header) -> io::Result<()> {
        let node = Arc::clone(&self.node);
        let count = self.records.len();
        let mut blanks: Vec<_> = (0..count).map_while(|_| node.frames.take()).collect();
        self.scratch.resize((count - blanks.len()) * PAGE, 0);
        let mut parts: Vec<_> =
            blanks.iter_mut().map(|blank| IoSliceMut::new(blank.bytes())).collect();
        parts.extend(self.scratch.chunks_exact_mut(PAGE).map(IoSliceMut::new));
        self.arrived.receive_all(&*self.stream, &mut parts, REST)?;
        drop(parts);
        let Some(seat) = &self.seat else { return Ok(()) };
        if seat.pool.epoch != header.epoch {
            return self.reply(Header { code: Code::OtherEpoch, ..header.reply() }, &[]);
        }
        let mut failed = 0;
        let mut fail = |record: &mut Record, code: Code| {
            record.code = u32::from(code as u16);
            failed += 1;
            let counters = &node.counters;
            let counter = match code {
                Code::Damaged => &counters.pages_damaged,
                _ => &counters.pages_refused,
            };
            Counters::add(counter, 1);
        };
        let aside = blanks.len();
        for (record, mut blank) in self.records.iter_mut().zip(blanks) {
            let put = (record.slot, record.version, record.check);
            if page_check(blank.bytes()) != record.check {
                fail(record, Code::Damaged);
            } else if let Err(code) = seat.pool.write(&node.frames, put, blank) {
                fail(record, code);
            }
        }
        let rest = self.records[aside..].iter_mut();
        for (record, page) in rest.zip(self.scratch.chunks_exact(PAGE)) {
            let put = (record.slot, record.version, record.check);
            if page_check(page) != record.check {
                fail(record, Code::Damaged);
            } else if let Err(code) = seat.pool.rewrite(&node.frames, put, page) {
                fail(record, code);
            }
        }
        Counters::add(&node.counters.pages_written, (count - failed) as u64);
        let records = std::mem::take(&mut self.records);
        let replied = self.reply(header.reply(), if failed > 0 { &records } else { &[] });
        self.records = records;
        replied
    }

    fn free(&mut self, header: Header) -> io::Result<()> {
        let Some(seat) = &self.seat else { return Ok(()) };
        for record in &self.records {
            let slots = record.slot..record.slot.saturating_add(record.check.into());
            seat.pool.free(&self.node.frames, slots, record.version);
        }
        self.reply(header.reply(), &[])
    }
}

impl Session {
    /// Hands the connection over to who runs functions, if that is wanted here, until the client hangs up.
    fn offload(&mut self, header: Header, pool: &Pool) -> io::Result<()> {
        let node = Arc::clone(&self.node);
        let Some(relay) = node.frames.file().and_then(|pages| Relay::start(pages).ok()) else {
            return self.reply(Header { code: Code::Denied, ..header.reply() }, &[]);
        };
        self.reply(header.reply(), &[])?;
        relay.run(&*self.stream, &mut self.arrived, (pool, &node.frames), &node.counters)
    }
}

pub(crate) fn senseless(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

const _: () = assert!(MOST_HEAD == HEADER + MOST * RECORD);
