//! A connection to a server: commands go out one after the other, replies come back in the same order, whoever waits
//! first receives for all.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use farside_os::thread::futex_wake;
use farside_wire::transport::{Interest, Patience, Spin, Stream, send_all};

use super::resp::{self, Reply};

/// Most replies that are owed.
const MOST_CALLS: usize = 8192;

/// A command that has begun to be sent takes at most so long.
const STALLED_NS: u64 = 2_000_000_000;

/// A thread that lets another one receive for it looks after that so often.
const LOOK_NS: u64 = 1_000_000;

/// Bytes received at once, at most.
const CHUNK: usize = 256 << 10;

/// Names a reply that is owed.
pub type Call = u64;

/// Why there is no reply.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Silence {
    /// Not yet.
    Late,
    /// The connection ended: there will be none.
    Broken,
}

enum State {
    Owed,
    /// Nobody wants it any more.
    Unwanted,
    Done(Reply),
}

/// Replies that are owed, or have come and were not taken.
#[derive(Default)]
struct Calls {
    /// The oldest of them.
    first: Call,
    /// The one that comes next.
    next: Call,
    states: VecDeque<State>,
}

impl Calls {
    fn state(&mut self, call: Call) -> Option<&mut State> {
        let at = usize::try_from(call.checked_sub(self.first)?).ok()?;
        self.states.get_mut(at)
    }

    /// Forgets the oldest as far as they are over.
    fn tidy(&mut self) {
        while self.first < self.next && matches!(self.states.front(), Some(State::Unwanted)) {
            self.states.pop_front();
            self.first += 1;
        }
    }

    /// The next reply has come.
    fn deliver(&mut self, reply: Reply) -> bool {
        let next = self.next;
        let Some(state) = self.state(next) else { return false };
        if matches!(state, State::Owed) {
            *state = State::Done(reply);
        }
        self.next += 1;
        self.tidy();
        true
    }

    fn take(&mut self, call: Call) -> Option<Reply> {
        let state = self.state(call)?;
        if !matches!(state, State::Done(_)) {
            return None;
        }
        let State::Done(reply) = std::mem::replace(state, State::Unwanted) else { return None };
        self.tidy();
        Some(reply)
    }
}

/// What has been received and not understood yet.
#[derive(Default)]
struct Incoming {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Incoming {
    fn room(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.bytes.len() - self.end < CHUNK / 4 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.bytes.len() - self.end < CHUNK / 4 {
            self.bytes.resize((self.bytes.len() * 2).max(CHUNK), 0);
        }
        &mut self.bytes[self.end..]
    }
}

/// A connection.
pub struct Line {
    stream: Box<dyn Stream>,
    /// How long a thread that waits looks again and again.
    spin_ns: u64,
    /// Held while commands are sent, so that replies are owed in the order of the commands.
    outgoing: Mutex<()>,
    incoming: Mutex<Incoming>,
    calls: Mutex<Calls>,
    broken: AtomicBool,
    /// Changes whenever a thread that did not receive itself may have reason to look.
    changed: AtomicU32,
    /// Threads that wait for a change.
    waiting: AtomicU32,
    /// Why the connection ended.
    why: OnceLock<String>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Line {
    /// Takes a connection.
    pub fn new(stream: Box<dyn Stream>, spin_ns: u64) -> Self {
        Self {
            stream,
            spin_ns,
            outgoing: Mutex::default(),
            incoming: Mutex::default(),
            calls: Mutex::default(),
            broken: AtomicBool::new(false),
            changed: AtomicU32::new(0),
            waiting: AtomicU32::new(0),
            why: OnceLock::new(),
        }
    }

    /// Whether the connection has ended.
    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }

    /// Why it ended.
    pub fn why(&self) -> &str {
        self.why.get().map_or("the connection ended", String::as_str)
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

    fn tell_others(&self) {
        self.changed.fetch_add(1, Ordering::AcqRel);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            futex_wake(&self.changed, u32::MAX);
        }
    }

    /// Sends commands that `replies` replies are owed for; returns the first of these.
    ///
    /// # Errors
    /// [`Silence::Late`] if too many are owed already.
    pub fn send(&self, parts: &mut [IoSlice<'_>], replies: usize) -> Result<Call, Silence> {
        let _order = lock(&self.outgoing);
        if self.is_broken() {
            return Err(Silence::Broken);
        }
        let first = {
            let mut calls = lock(&self.calls);
            if calls.states.len() + replies > MOST_CALLS {
                return Err(Silence::Late);
            }
            let first = calls.first + calls.states.len() as u64;
            calls.states.extend((0..replies).map(|_| State::Owed));
            first
        };
        let patience = Patience::of(0, STALLED_NS);
        let sent = send_all(&*self.stream, parts, patience, || {
            // A server that cannot send does not receive either.
            self.incoming.try_lock().map_or(Ok(()), |mut incoming| self.receive_some(&mut incoming))
        });
        match sent {
            Ok(()) => Ok(first),
            Err(error) => {
                self.fail(&error);
                Err(Silence::Broken)
            }
        }
    }

    /// Nobody waits for these replies any more.
    pub fn abandon(&self, first: Call, count: usize) {
        let mut calls = lock(&self.calls);
        for call in first..first + count as u64 {
            if let Some(state) = calls.state(call) {
                *state = State::Unwanted;
            }
        }
        calls.tidy();
    }

    /// Waits for a reply until the connection's clock shows `until`.
    ///
    /// # Errors
    /// [`Silence::Late`], and it is still owed; or [`Silence::Broken`].
    pub fn wait(&self, call: Call, until: u64) -> Result<Reply, Silence> {
        let patience = Patience::until(self.spin_ns, until);
        let mut spin = None;
        loop {
            let seen = self.changed.load(Ordering::Acquire);
            if let Some(reply) = lock(&self.calls).take(call) {
                return Ok(reply);
            }
            if self.is_broken() {
                return Err(Silence::Broken);
            }
            let Ok(mut incoming) = self.incoming.try_lock() else {
                let now = self.stream.now();
                if now >= until {
                    return Err(Silence::Late);
                }
                self.waiting.fetch_add(1, Ordering::SeqCst);
                self.stream.doze(&self.changed, seen, LOOK_NS.min(until - now));
                self.waiting.fetch_sub(1, Ordering::SeqCst);
                continue;
            };
            match self.receive_once(&mut incoming) {
                Ok(()) => spin = None,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let spin = spin.get_or_insert_with(|| Spin::new(patience));
                    if lock(&self.calls)
                        .state(call)
                        .is_some_and(|state| matches!(state, State::Owed))
                        && spin.pause(&*self.stream, Interest::Receive).is_err()
                    {
                        drop(incoming);
                        self.tell_others();
                        return Err(Silence::Late);
                    }
                }
                Err(error) => self.fail(&error),
            }
            drop(incoming);
            self.tell_others();
        }
    }

    /// Whether a reply need not be waited for: it has come, or never will.
    pub fn has_reply(&self, call: Call) -> bool {
        let is_over =
            || !lock(&self.calls).state(call).is_some_and(|state| matches!(state, State::Owed));
        if !is_over() && !self.is_broken() {
            self.sweep();
        }
        is_over() || self.is_broken()
    }

    /// Receives what has arrived of replies that nobody waits for.
    pub fn sweep(&self) {
        if let Ok(mut incoming) = self.incoming.try_lock() {
            let swept = self.receive_some(&mut incoming);
            drop(incoming);
            match swept {
                Ok(()) => self.tell_others(),
                Err(error) => self.fail(&error),
            }
        }
    }

    /// Receives all that has arrived.
    fn receive_some(&self, incoming: &mut Incoming) -> io::Result<()> {
        loop {
            match self.receive_once(incoming) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Receives what has arrived, up to some bytes, and delivers the replies in it.
    fn receive_once(&self, incoming: &mut Incoming) -> io::Result<()> {
        let more = self.stream.receive(&mut [IoSliceMut::new(incoming.room())])?;
        if more == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        incoming.end += more;
        let nonsense = || io::Error::new(io::ErrorKind::InvalidData, "it does not speak RESP");
        while incoming.start < incoming.end {
            let arrived = &incoming.bytes[incoming.start..incoming.end];
            let Some((reply, len)) = resp::parse(arrived).map_err(|_| nonsense())? else { break };
            incoming.start += len;
            if !lock(&self.calls).deliver(reply) {
                return Err(nonsense());
            }
        }
        Ok(())
    }
}
