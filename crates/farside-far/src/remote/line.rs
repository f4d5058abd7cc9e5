//! A connection to a memory node: requests go out, replies come back, whoever waits first receives for all.

use std::io::{self, IoSlice, IoSliceMut};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use farside_os::memory::PAGE;
use farside_os::thread::futex_wake;
use farside_wire::frame::{Code, HEADER, Header, Kind, MOST, MOST_HEAD, Record, Vitals};
use farside_wire::transport::{Buffered, Patience, Stream, send_all};
use smallvec::SmallVec;

/// Most requests under way.
pub const CALLS: usize = 512;

/// For the rest of a message that has begun to arrive, or to be sent.
const REST: Patience = Patience::of(0, 2_000_000_000);

/// Pages of a message; most have one.
type Parts<T> = SmallVec<[T; 2]>;

/// A thread that lets another one receive for it looks after that so often.
const LOOK_NS: u64 = 1_000_000;

/// Names a request under way.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CallId(u64);

impl CallId {
    fn place(self) -> usize {
        self.0 as usize % CALLS
    }
}

/// Why there is no reply.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Silence {
    /// Not yet.
    Late,
    /// The connection ended: there will be none.
    Broken,
    /// Too many requests are under way.
    Busy,
}

/// A reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// What became of the request.
    pub code: Code,
    /// [`DRAINING`](farside_wire::frame::DRAINING).
    pub flags: u8,
    /// The epoch of the pool.
    pub epoch: u64,
    /// By bits: pages, by their place in the request, that were not read or stored; those of a read whose node sent
    /// something else than it said are not noticed here.
    pub failed: u64,
    /// What became of the first of these.
    pub failure: Code,
    /// What became of each of them.
    failures: Vec<Code>,
    /// What the node said of itself, if the reply has one record.
    pub vitals: Option<Vitals>,
    /// What the node counts, if it was asked for that.
    pub figures: Vec<Record>,
    /// Pages that were received by another thread, one after the other, or parts of pages.
    parked: Vec<u8>,
}

impl Reply {
    /// Parts of pages that came, one after the other.
    pub fn parts(&self) -> &[u8] {
        &self.parked
    }

    /// What became of a page or part, by its place in the request.
    pub fn outcome(&self, place: usize) -> Code {
        if self.code != Code::Done || self.failed >> place & 1 == 0 {
            return self.code;
        }
        let before = (self.failed & ((1 << place) - 1)).count_ones();
        self.failures.get(before as usize).copied().unwrap_or_default()
    }
}

#[derive(Default)]
enum State {
    #[default]
    Free,
    Sent,
    Done(Reply),
}

#[derive(Default)]
struct Call {
    id: u64,
    state: State,
}

/// What has been received of the next message.
struct Incoming {
    arrived: Buffered,
    head: Box<[u8; MOST_HEAD]>,
    /// Pages that nobody wants any more.
    sink: Box<[u8; PAGE]>,
}

/// A connection.
pub struct Line {
    stream: Box<dyn Stream>,
    /// How long a thread that waits looks again and again.
    spin_ns: u64,
    epoch: AtomicU64,
    outgoing: Mutex<Box<[u8; MOST_HEAD]>>,
    incoming: Mutex<Incoming>,
    calls: Box<[Mutex<Call>]>,
    free: Mutex<Vec<u16>>,
    next: AtomicU64,
    broken: AtomicBool,
    /// Changes whenever a thread that did not receive itself may have reason to look.
    changed: AtomicU32,
    /// Threads that wait for a change.
    waiting: AtomicU32,
    /// Why the connection ended, if it did not end well.
    why: OnceLock<String>,
}

/// Where pages of a read go.
pub struct Places<'a> {
    /// Room for a run of pages.
    pub into: &'a mut [u8],
    /// By bits: those of the run that the request asks for.
    pub wanted: u64,
}

impl Places<'_> {
    /// Room for those pages of the request, in order, that did not fail.
    fn parts(&mut self, failed: u64) -> impl Iterator<Item = &mut [u8]> {
        let wanted = self.wanted;
        let is_wanted = move |(at, _): &(usize, &mut [u8])| wanted >> at & 1 == 1;
        let pages = self.into.chunks_exact_mut(PAGE).take(MOST).enumerate().filter(is_wanted);
        let arrived = move |(place, _): &(usize, (usize, &mut [u8]))| failed >> place & 1 == 0;
        pages.enumerate().filter(arrived).map(|(_, (_, page))| page)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_transient(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::TimedOut
}

impl Line {
    /// Takes a connection. Nothing may be asked but Hello until [`open`](Self::open) was called.
    pub fn new(stream: Box<dyn Stream>, spin_ns: u64) -> Self {
        let calls = (0..CALLS).map(|_| Mutex::default()).collect();
        let head = || Box::new([0; MOST_HEAD]);
        let incoming =
            Incoming { arrived: Buffered::default(), head: head(), sink: Box::new([0; PAGE]) };
        Self {
            stream,
            spin_ns,
            epoch: AtomicU64::new(0),
            outgoing: Mutex::new(head()),
            incoming: Mutex::new(incoming),
            calls,
            free: Mutex::new((0..CALLS as u16).collect()),
            next: AtomicU64::new(1),
            broken: AtomicBool::new(false),
            changed: AtomicU32::new(0),
            waiting: AtomicU32::new(0),
            why: OnceLock::new(),
        }
    }

    /// Requests are about the pool of that epoch.
    pub fn open(&self, epoch: u64) {
        self.epoch.store(epoch, Ordering::Release);
    }

    /// The epoch that requests are about.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Nanoseconds of the connection's clock.
    pub fn now(&self) -> u64 {
        self.stream.now()
    }

    /// Whether the connection has ended.
    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }

    /// Ends the connection: whoever waits for a reply gets none.
    pub fn end(&self) {
        self.broken.store(true, Ordering::Release);
        self.stream.shut();
        self.tell_others();
    }

    fn fail(&self, error: &io::Error) {
        // The first reason is the one.
        let _ = self.why.set(error.to_string());
        self.end();
    }

    /// Why the connection ended.
    pub fn why(&self) -> &str {
        self.why.get().map_or("the connection ended", String::as_str)
    }

    fn tell_others(&self) {
        self.changed.fetch_add(1, Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            futex_wake(&self.changed, i32::MAX as u32);
        }
    }

    /// Sends a request about `records`, with the pages or the parts of pages that belong to them.
    ///
    /// # Errors
    /// [`Silence::Broken`] or [`Silence::Busy`].
    pub fn send(&self, kind: Kind, records: &[Record], pages: &[&[u8]]) -> Result<CallId, Silence> {
        if self.is_broken() {
            return Err(Silence::Broken);
        }
        let place = lock(&self.free).pop().ok_or(Silence::Busy)?;
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let id = CallId(turn * CALLS as u64 + u64::from(place));
        *lock(&self.calls[id.place()]) = Call { id: id.0, state: State::Sent };
        let header = Header::request(kind, id.0, self.epoch());
        let len: usize = pages.iter().map(|page| page.len()).sum();
        let header = Header { pages: (len / kind.unit()) as u16, ..header };
        match self.send_message(header, records, pages) {
            Ok(()) => Ok(id),
            Err(error) => {
                self.fail(&error);
                self.abandon(id);
                Err(Silence::Broken)
            }
        }
    }

    fn send_message(&self, header: Header, records: &[Record], pages: &[&[u8]]) -> io::Result<()> {
        let mut head = lock(&self.outgoing);
        let len = header.encode(records, &mut head[..]);
        let mut parts = Parts::with_capacity(1 + pages.len());
        parts.push(IoSlice::new(&head[..len]));
        parts.extend(pages.iter().map(|page| IoSlice::new(page)));
        send_all(&*self.stream, &mut parts, REST, || {
            // A node that cannot send does not receive either.
            match self.incoming.try_lock() {
                Ok(mut incoming) => self.receive_some(&mut incoming),
                Err(_) => Ok(()),
            }
        })
    }

    /// Receives all that has arrived.
    fn receive_some(&self, incoming: &mut Incoming) -> io::Result<()> {
        let now = Patience::until(0, 0);
        loop {
            match self.receive_one(incoming, None, now) {
                Ok(()) => self.tell_others(),
                Err(error) if is_transient(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Forgets a request; its reply is dropped when it comes.
    pub fn abandon(&self, id: CallId) {
        let mut call = lock(&self.calls[id.place()]);
        if call.id == id.0 {
            *call = Call::default();
            drop(call);
            lock(&self.free).push(id.place() as u16);
        }
    }

    /// Waits for a reply until the connection's clock shows `until`; the pages of a read go to `places`.
    ///
    /// # Errors
    /// [`Silence::Late`], and the request is still under way; or [`Silence::Broken`], and it is not.
    pub fn wait(
        &self,
        id: CallId,
        places: &mut Option<Places<'_>>,
        until: u64,
    ) -> Result<Reply, Silence> {
        let patience = Patience::until(self.spin_ns, until);
        loop {
            let seen = self.changed.load(Ordering::Acquire);
            if let Some(reply) = self.take(id, places) {
                return Ok(reply);
            }
            if self.is_broken() {
                self.abandon(id);
                return Err(Silence::Broken);
            }
            match self.incoming.try_lock() {
                Ok(mut incoming) => {
                    // Whoever received before may have received this.
                    if let Some(reply) = self.take(id, places) {
                        return Ok(reply);
                    }
                    let places = places.as_mut().map(|places| (id, places));
                    let received = self.receive_one(&mut incoming, places, patience);
                    drop(incoming);
                    match received {
                        Ok(()) => self.tell_others(),
                        Err(error) if is_transient(&error) => {
                            self.tell_others();
                            return Err(Silence::Late);
                        }
                        Err(error) => self.fail(&error),
                    }
                }
                Err(_) => {
                    let now = self.now();
                    if now >= until {
                        return Err(Silence::Late);
                    }
                    self.waiting.fetch_add(1, Ordering::SeqCst);
                    self.stream.doze(&self.changed, seen, LOOK_NS.min(until - now));
                    self.waiting.fetch_sub(1, Ordering::SeqCst);
                }
            }
        }
    }

    /// Whether a reply need not be waited for: it has come, or never will.
    pub fn has_reply(&self, id: CallId) -> bool {
        let is_over = || {
            let call = lock(&self.calls[id.place()]);
            call.id != id.0 || !matches!(call.state, State::Sent)
        };
        if !is_over() && !self.is_broken() {
            self.sweep();
        }
        is_over() || self.is_broken()
    }

    /// Receives what has arrived of requests that nobody waits for.
    pub fn sweep(&self) {
        if let Ok(mut incoming) = self.incoming.try_lock() {
            let swept = self.receive_some(&mut incoming);
            drop(incoming);
            if let Err(error) = swept {
                self.fail(&error);
            }
        }
    }

    /// The reply, if it has come; the request is over then.
    fn take(&self, id: CallId, places: &mut Option<Places<'_>>) -> Option<Reply> {
        let mut call = lock(&self.calls[id.place()]);
        if call.id != id.0 || !matches!(call.state, State::Done(_)) {
            return None;
        }
        let State::Done(reply) = std::mem::take(&mut *call).state else { return None };
        drop(call);
        lock(&self.free).push(id.place() as u16);
        if let (Some(places), false) = (places, reply.parked.is_empty()) {
            for (page, parked) in places.parts(reply.failed).zip(reply.parked.chunks_exact(PAGE)) {
                page.copy_from_slice(parked);
            }
        }
        Some(reply)
    }

    /// Receives one message. If none has begun to arrive in time, that is [`io::ErrorKind::TimedOut`]; any other error
    /// ends the connection.
    fn receive_one(
        &self,
        incoming: &mut Incoming,
        own: Option<(CallId, &mut Places<'_>)>,
        patience: Patience,
    ) -> io::Result<()> {
        let Incoming { arrived, head, sink } = incoming;
        let start = arrived.receive_start::<HEADER>(&*self.stream, patience)?;
        let header = Header::decode(&start)?;
        head[..HEADER].copy_from_slice(&start);
        let stalled = |error: io::Error| {
            if is_transient(&error) { io::ErrorKind::UnexpectedEof.into() } else { error }
        };
        let head = &mut head[..HEADER + header.records_len()];
        arrived
            .receive_all(&*self.stream, &mut [IoSliceMut::new(&mut head[HEADER..])], REST)
            .map_err(stalled)?;
        let mut reply = reply_of(&header, head)?;
        let len = header.content_len();
        let is_expected = {
            let call = lock(&self.calls[header.id as usize % CALLS]);
            call.id == header.id && matches!(call.state, State::Sent)
        };
        if !is_expected {
            for at in (0..len).step_by(PAGE) {
                let sink = &mut [IoSliceMut::new(&mut sink[..PAGE.min(len - at)])];
                arrived.receive_all(&*self.stream, sink, REST).map_err(stalled)?;
            }
            return Ok(());
        }
        let mut parts: Parts<IoSliceMut<'_>> = match own {
            Some((id, places)) if id.0 == header.id => {
                let room = if reply.code == Code::Done { usize::MAX } else { 0 };
                places.parts(reply.failed).take(room).map(IoSliceMut::new).collect()
            }
            _ => {
                reply.parked.resize(len, 0);
                reply.parked.chunks_mut(PAGE).map(IoSliceMut::new).collect()
            }
        };
        if parts.iter().map(|part| part.len()).sum::<usize>() != len {
            return Err(io::ErrorKind::InvalidData.into());
        }
        arrived.receive_all(&*self.stream, &mut parts, REST).map_err(stalled)?;
        drop(parts);
        let mut call = lock(&self.calls[header.id as usize % CALLS]);
        if call.id == header.id {
            call.state = State::Done(reply);
        }
        Ok(())
    }
}

/// What header and records say.
fn reply_of(header: &Header, head: &[u8]) -> io::Result<Reply> {
    let Header { code, flags, epoch, .. } = *header;
    let mut reply = Reply { code, flags, epoch, ..Reply::default() };
    for (place, record) in header.records(head)?.enumerate() {
        match header.kind {
            Kind::Stats => reply.figures.push(record),
            Kind::Hello | Kind::Ping => reply.vitals = Some(Vitals::of(record)),
            _ if record.outcome() != Code::Done => {
                if reply.failed == 0 {
                    reply.failure = record.outcome();
                }
                reply.failures.push(record.outcome());
                reply.failed |= 1 << place;
            }
            _ => {}
        }
    }
    Ok(reply)
}
