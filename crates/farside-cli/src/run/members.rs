//! The managed processes of a run: their connections and counters.

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::time::Duration;

use farside_os::memory::PAGE;
use farside_os::socket;
use farside_pager::counters::{Counters, Snapshot};
use farside_pager::settings::LEAST_LIMIT;
use farside_sharing::orders;
use farside_wire::control::{Arrival, BeginPart, Hello, Listener, Refusal, Welcome};
use farside_wire::pool;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nix::unistd::ftruncate;

use super::ordered::Ordered;
use super::parts::Parts;
use crate::faults::{Watched, Watcher};
use crate::figures::Figures;
use crate::record::{Recorded, Writer};
use crate::together::Standing;

/// Bytes of a counters block: whole pages.
const BLOCK: usize = size_of::<Counters>().next_multiple_of(4096);

/// A counters block that a process writes and the supervisor reads.
#[derive(Debug)]
struct Block {
    at: NonNull<Counters>,
}

impl Block {
    /// A zeroed block, and the descriptor that the process maps it by.
    fn new() -> io::Result<(Self, OwnedFd)> {
        let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
        let file = memfd_create(c"farside-counters", flags)?;
        ftruncate(&file, BLOCK as i64)?;
        // The process must not be able to cut off what the supervisor reads.
        let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
        fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
        let len = NonZeroUsize::new(BLOCK).ok_or(io::ErrorKind::InvalidInput)?;
        // Written is only what is ordered.
        let (protection, shared) =
            (ProtFlags::PROT_READ | ProtFlags::PROT_WRITE, MapFlags::MAP_SHARED);
        // SAFETY: maps a fresh file wherever there is room.
        let at = unsafe { mmap(None, len, protection, shared, &file, 0) }?;
        Ok((Self { at: at.cast() }, file))
    }

    fn counters(&self) -> &Counters {
        // SAFETY: the mapping is page-aligned, as long as the type, sealed in its size and lives as
        // long as `self`; the type consists of atomics, for which any bytes are valid and which
        // another process may change at any time.
        unsafe { self.at.as_ref() }
    }

    fn snapshot(&self) -> Snapshot {
        self.counters().snapshot()
    }

    /// How its process stands, by what that says of itself.
    fn standing(&self) -> Standing {
        Standing::of(&self.snapshot())
    }

    /// Orders a limit, unless that is what has been ordered.
    fn order(&self, bytes: u64) {
        let ordered = &self.counters().ordered;
        if ordered.bytes() != Some(bytes) {
            ordered.order(bytes);
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length; no reference outlives `self`.
        let _ = unsafe { munmap(self.at.cast(), BLOCK) };
    }
}

/// A connection: of somebody who has not spoken yet, or of a process.
#[derive(Debug)]
struct Session {
    socket: OwnedFd,
    block: Option<Block>,
    /// The process, if it may have parts: no child made by fork.
    pid: Option<u32>,
    /// Who is to be let in when the run has its limit.
    waiting: Option<Hello>,
}

/// What became of a connection.
enum Next {
    Stay,
    Close,
}

/// What goes with a process.
#[derive(Debug)]
pub enum Companion {
    /// What it does is recorded.
    Writer(Writer),
    /// It follows a tape.
    Tape(OwnedFd),
    /// Its faults are watched.
    Watcher(Watcher),
}

/// What a companion has gathered.
#[derive(Debug)]
pub enum Gathered {
    /// A recording.
    Recorded(Recorded),
    /// Faults.
    Watched(Box<Watched>),
}

impl Companion {
    /// The process `pid`, or what it has become, begins; returns what it gets.
    fn begin(&self, pid: u32) -> BorrowedFd<'_> {
        match self {
            Self::Watcher(watcher) => watcher.begin(pid),
            Self::Writer(writer) => writer.begin(),
            Self::Tape(image) => image.as_fd(),
        }
    }
}

/// All processes of a run.
#[derive(Debug)]
pub struct Members {
    listener: Listener,
    /// Given up to refuse a process in words when descriptors run out.
    spare: Option<File>,
    sessions: Vec<Session>,
    ended: Figures,
    joined: u32,
    accompanied: Option<(u32, Companion)>,
    parts: Parts,
    ordered: Ordered,
    is_settled: bool,
}

impl Members {
    /// Starts to listen for them.
    pub fn new(parts: Parts) -> io::Result<Self> {
        Ok(Self {
            listener: Listener::open()?,
            spare: File::open("/dev/null").ok(),
            sessions: Vec::new(),
            ended: Figures::default(),
            joined: 0,
            accompanied: None,
            parts,
            ordered: Ordered::default(),
            is_settled: true,
        })
    }

    /// Records what the process `pid` does, and what it becomes by exec, or has it follow a tape.
    pub fn accompany(&mut self, pid: u32, companion: Companion) {
        self.accompanied = Some((pid, companion));
    }

    /// What has been gathered; nothing more will be.
    pub fn take_gathered(&mut self) -> Option<Gathered> {
        match self.accompanied.take()? {
            (_, Companion::Writer(writer)) => writer.finish().map(Gathered::Recorded),
            (_, Companion::Watcher(watcher)) => {
                watcher.finish().map(|watched| Gathered::Watched(Box::new(watched)))
            }
            (_, Companion::Tape(_)) => None,
        }
    }

    /// Plans the parts that have been recorded; returns how many.
    pub fn plan_parts(&mut self, peak: u64) -> usize {
        self.parts.plan(peak)
    }

    /// The name that processes connect to.
    pub fn control_name(&self) -> &str {
        self.listener.name()
    }

    /// Whether no process lives.
    pub fn is_empty(&self) -> bool {
        self.sessions.iter().all(|session| session.block.is_none())
    }

    /// What to wait for: new connections first, then the open ones in order.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let sessions = self.sessions.iter().map(|session| session.socket.as_fd());
        std::iter::once(self.listener.as_fd()).chain(sessions)
    }

    /// All descriptors that are needed to go on.
    pub fn held(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.descriptors().chain(self.spare.as_ref().map(AsFd::as_fd))
    }

    /// The counters of all processes so far.
    pub fn figures(&self) -> Figures {
        let mut figures = self.ended.clone();
        for block in self.sessions.iter().filter_map(|session| session.block.as_ref()) {
            figures.add(&block.snapshot(), true);
        }
        figures
    }

    /// Serves those of [`descriptors`](Self::descriptors) that `ready` says so of. `link` leads to
    /// the node, if it lives; `report` makes the text for a watcher.
    pub fn serve(
        &mut self,
        ready: &[bool],
        link: Option<BorrowedFd<'_>>,
        report: impl Fn(&Figures) -> String,
    ) {
        for index in (0..self.sessions.len()).rev() {
            if ready.get(index + 1) != Some(&true) {
                continue;
            }
            if let Next::Close = self.hear(index, link, &report) {
                let session = self.sessions.swap_remove(index);
                session.pid.into_iter().for_each(|pid| self.parts.gone(pid));
                if let Some(block) = session.block {
                    self.ended.add(&block.snapshot(), false);
                    self.divide();
                }
            }
        }
        if ready.first() == Some(&true) {
            self.accept();
        }
    }

    fn accept(&mut self) {
        match self.listener.accept() {
            Ok(Some(socket)) => {
                self.sessions.push(Session { socket, block: None, pid: None, waiting: None })
            }
            // Another user, who has been told.
            Ok(None) => {}
            Err(_) => {
                self.spare = None;
                if let Ok(Some(socket)) = self.listener.accept() {
                    // Whether or not it hears that: it is sent away.
                    let _ = Listener::refuse(socket.as_fd(), Refusal::Exhausted);
                }
                self.spare = File::open("/dev/null").ok();
            }
        }
    }

    fn hear(
        &mut self,
        index: usize,
        link: Option<BorrowedFd<'_>>,
        report: &impl Fn(&Figures) -> String,
    ) -> Next {
        let socket = self.sessions[index].socket.as_fd();
        let known = self.sessions[index].block.is_some();
        match Listener::arrival(socket) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Next::Stay,
            // A child has its memory already.
            Ok(Arrival::Process(hello))
                if !known && self.ordered.is_held() && hello.fork_of.is_none() =>
            {
                self.sessions[index].waiting = Some(hello);
                Next::Stay
            }
            Ok(Arrival::Process(hello)) if !known => self.let_in(index, &hello, link),
            Ok(Arrival::Limit(order)) if !known => {
                let state = self.ordered.take(order.bytes, &self.standings());
                // Who went away needs no answer.
                let _ = Listener::limit_state(socket, state);
                self.divide();
                self.let_in_who_waits(link);
                Next::Close
            }
            Ok(Arrival::BeginPart(asked)) if known => self.begin_part(index, asked),
            Ok(Arrival::EndPart) if known => {
                self.sessions[index].pid.into_iter().for_each(|pid| self.parts.end(pid));
                Next::Stay
            }
            Ok(Arrival::Watcher) if !known => {
                // A watcher that went away needs no answer.
                let _ = Listener::figures(socket, &report(&self.figures()));
                Next::Close
            }
            // Hung up, or talking nonsense, which has been answered.
            _ => Next::Close,
        }
    }
}

impl Members {
    /// Has processes that join wait for an order of their limit for a while.
    pub fn hold(&mut self) {
        self.ordered.hold();
    }

    /// How long processes that wait for that may still have to.
    pub fn held_for(&self) -> Option<Duration> {
        self.ordered.held_for()
    }

    /// The limit that was ordered for all processes together, if one was.
    pub fn ordered(&self) -> Option<u64> {
        self.ordered.bytes()
    }

    /// Lets processes in that waited for a limit, unless they still have to.
    pub fn let_in_who_waits(&mut self, link: Option<BorrowedFd<'_>>) {
        if self.ordered.is_held() {
            return;
        }
        for index in 0..self.sessions.len() {
            let Some(hello) = self.sessions[index].waiting.take() else { continue };
            // One that is refused hangs up, which is seen as that of any other.
            self.let_in(index, &hello, link);
        }
    }

    fn let_in(&mut self, index: usize, hello: &Hello, link: Option<BorrowedFd<'_>>) -> Next {
        let Ok((block, counters)) = Block::new() else {
            // If it cannot be told it is gone.
            let _ = Listener::refuse(self.sessions[index].socket.as_fd(), Refusal::Exhausted);
            return Next::Close;
        };
        self.sessions[index].block = Some(block);
        if let (Some(_), Some(block)) = (self.ordered.bytes(), &self.sessions[index].block) {
            // It begins with little, until the others have given up what it is to have.
            block.order(LEAST_LIMIT);
        }
        self.divide();
        let its = |(pid, _): &&(u32, Companion)| *pid == hello.pid && hello.fork_of.is_none();
        let companion = self.accompanied.as_ref().filter(its).map(|(pid, it)| it.begin(*pid));
        let socket = self.sessions[index].socket.as_fd();
        if admit(socket, hello, link, self.joined, (counters.as_fd(), companion)) {
            self.joined += 1;
            self.sessions[index].pid = hello.fork_of.is_none().then_some(hello.pid);
            return Next::Stay;
        }
        self.sessions[index].block = None;
        Next::Close
    }

    /// How the processes that live stand.
    fn standings(&self) -> Vec<Standing> {
        self.blocks().map(Block::standing).collect()
    }

    fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.sessions.iter().filter_map(|session| session.block.as_ref())
    }

    /// Whether the limit has to be divided now and then, as processes use more or less.
    pub fn is_divided(&self) -> bool {
        self.ordered.bytes().is_some() && self.blocks().nth(1).is_some()
    }

    /// Whether all processes have, or were ordered, what they are to have.
    pub fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// Divides the limit that was ordered among the processes that live. What one gives up another is only ordered once it
    /// has been given up, so that they never have more together.
    pub fn divide(&mut self) {
        let Some(total) = self.ordered.bytes() else { return };
        let pages = |bytes: u64| (bytes / PAGE as u64) as usize;
        let shares = self.ordered.divided(&self.standings()).unwrap_or_default();
        let standing = |(block, share): (&Block, u64)| {
            let (its, promised) = (block.standing(), block.counters().ordered.bytes());
            let claim = its.limit.max(its.resident).max(promised.unwrap_or(0));
            let (claim, least) = (claim.div_ceil(PAGE as u64) as usize, pages(its.least));
            farside_sharing::Standing { claim, least, target: pages(share) }
        };
        let standings: Vec<_> = self.blocks().zip(shares).map(standing).collect();
        let orders = orders(pages(total), &standings);
        for (block, order) in self.blocks().zip(&orders) {
            if let Some(pages) = order {
                block.order((*pages * PAGE) as u64);
            }
        }
        self.is_settled = orders.iter().all(Option::is_none);
    }

    /// A process asks what to do with a part.
    fn begin_part(&mut self, index: usize, asked: BeginPart) -> Next {
        let Session { socket, pid: Some(pid), .. } = &self.sessions[index] else {
            return Next::Close;
        };
        let order = self.parts.begin(*pid, asked);
        let (order, companion) = order.message();
        match Listener::order(socket.as_fd(), order, companion.map(AsFd::as_fd)) {
            Ok(()) => Next::Stay,
            Err(_) => Next::Close,
        }
    }
}

/// Gives a process its counters and its connection to the node; false if that is not possible, which
/// the process has then been told.
fn admit(
    socket: BorrowedFd<'_>,
    hello: &Hello,
    link: Option<BorrowedFd<'_>>,
    index: u32,
    (counters, companion): (BorrowedFd<'_>, Option<BorrowedFd<'_>>),
) -> bool {
    let refuse = |refusal| {
        // If it cannot be told it is gone.
        let _ = Listener::refuse(socket, refusal);
        false
    };
    let Some(link) = link else { return refuse(Refusal::NodeGone) };
    let Ok((node, client)) = socket::pair() else { return refuse(Refusal::Exhausted) };
    let attach =
        pool::Message::Attach { pid: hello.pid, fork_of: hello.fork_of.unwrap_or(0) }.encode();
    if socket::send(link, &attach, &[node.as_fd()]).is_err() {
        return refuse(Refusal::NodeGone);
    }
    let welcome = Welcome { counters_len: BLOCK as u32, index, supervisor_pid: std::process::id() };
    Listener::welcome(socket, welcome, counters, client.as_fd(), companion).is_ok()
}
