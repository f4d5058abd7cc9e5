//! A memory node across a network, as this side knows it.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use farside_os::random;
use farside_wire::figures::{self, Figure};
use farside_wire::frame::{Code, DRAINING, Kind, LEAVING, MOST, PARTS, Record, Vitals, hello};

use super::Timing;
use super::line::{CallId, Line, Reply, Silence};
use super::network::{Network, NodeAddress};
use crate::seals::Seals;

/// What a request is for: a page that the program waits for does not queue behind others.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Weight {
    /// A page that somebody waits for.
    Light = 0,
    /// Anything else.
    Heavy = 1,
}

/// How long after a node said that it is full it is asked again.
const FULL_NS: u64 = 100_000_000;

/// How long a node that was slow is left alone if another one will do.
const SLOW_NS: u64 = 200_000_000;

/// From one attempt to reach a node to the next, at first and at most.
const RETRY_NS: (u64, u64) = (20_000_000, 1_000_000_000);

/// How often a node is asked how it is.
const PING_NS: u64 = 1_000_000_000;

/// A node.
pub struct Peer {
    address: NodeAddress,
    /// Its place among the nodes of the run.
    index: usize,
    lines: [RwLock<Option<Arc<Line>>>; 2],
    /// When to try to reach it again, and how long to wait after that.
    retry: Mutex<(u64, u64)>,
    ping: Mutex<(u64, Option<CallId>)>,
    full_until: AtomicU64,
    slow_until: AtomicU64,
    draining: AtomicBool,
    /// Whether it moves parts of pages.
    knows_parts: AtomicBool,
    /// Whether it could not be reached again since its connections ended.
    gone: AtomicBool,
}

impl Peer {
    /// A node that is not connected to.
    pub fn new(address: NodeAddress, index: usize) -> Self {
        Self {
            address,
            index,
            lines: Default::default(),
            retry: Mutex::new((0, RETRY_NS.0)),
            ping: Mutex::new((0, None)),
            full_until: AtomicU64::new(0),
            slow_until: AtomicU64::new(0),
            draining: AtomicBool::new(false),
            knows_parts: AtomicBool::new(false),
            gone: AtomicBool::new(false),
        }
    }

    /// Where it is.
    pub fn address(&self) -> &NodeAddress {
        &self.address
    }

    /// The connection for requests of that weight, unless it has ended.
    pub fn line(&self, weight: Weight) -> Option<Arc<Line>> {
        let line = self.lines[weight as usize].read().unwrap_or_else(PoisonError::into_inner);
        line.as_ref().filter(|line| !line.is_broken()).map(Arc::clone)
    }

    fn has_line(&self, weight: Weight) -> bool {
        let line = self.lines[weight as usize].read().unwrap_or_else(PoisonError::into_inner);
        line.as_ref().is_some_and(|line| !line.is_broken())
    }

    /// Whether requests can be sent.
    pub fn is_up(&self) -> bool {
        self.has_line(Weight::Light) && self.has_line(Weight::Heavy)
    }

    /// Whether new pages may be sent if need be.
    pub fn has_room(&self, now: u64) -> bool {
        self.is_up() && self.full_until.load(Ordering::Relaxed) <= now
    }

    /// Whether new pages may be sent.
    pub fn takes_pages(&self, now: u64) -> bool {
        self.has_room(now) && !self.is_draining()
    }

    /// Whether it wants to get rid of its pages.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Whether it moves parts of pages, by what it said the last time it was connected to.
    pub fn knows_parts(&self) -> bool {
        self.knows_parts.load(Ordering::Relaxed)
    }

    /// Tells it that some of its pages can be forgotten. What it does not learn of, it forgets with the rest.
    pub fn forget(&self, runs: &[Record]) {
        let Some(line) = self.line(Weight::Heavy) else { return };
        for some in runs.chunks(MOST) {
            if let Ok(id) = line.send(Kind::Free, some, &[]) {
                line.abandon(id);
            }
        }
        line.sweep();
    }

    /// Whether its connections have ended, but it may be there all the same.
    pub fn may_come_back(&self) -> bool {
        !self.is_up() && !self.gone.load(Ordering::Relaxed)
    }

    /// Whether it was slow lately. The clock is looked at only if it ever was.
    pub fn is_slow(&self, now: impl FnOnce() -> u64) -> bool {
        let until = self.slow_until.load(Ordering::Relaxed);
        until > 0 && until > now()
    }

    /// It did not answer in time.
    pub fn note_slow(&self, now: u64) {
        self.slow_until.store(now + SLOW_NS, Ordering::Relaxed);
    }

    /// Takes note of what a reply says of the node.
    pub fn note(&self, reply: &Reply, now: impl FnOnce() -> u64) {
        self.draining.store(reply.flags & DRAINING != 0, Ordering::Relaxed);
        if reply.failure == Code::Full {
            self.full_until.store(now() + FULL_NS, Ordering::Relaxed);
        }
        if reply.code == Code::OtherEpoch {
            self.hang_up();
        }
    }

    /// Ends the connections; new ones will be made.
    pub fn hang_up(&self) {
        for line in &self.lines {
            if let Some(line) = &*line.read().unwrap_or_else(PoisonError::into_inner) {
                line.end();
            }
        }
    }

    /// In a forked child: the connections are the parent's.
    pub fn leave_to_parent(&self) {
        for line in &self.lines {
            *line.write().unwrap_or_else(PoisonError::into_inner) = None;
        }
        *self.ping.lock().unwrap_or_else(PoisonError::into_inner) = (0, None);
    }

    /// Connects where there is no connection, and notices if the node has lost what it held.
    ///
    /// # Errors
    /// If the node cannot be reached, or will not have us.
    pub fn connect(
        &self,
        network: &dyn Network,
        timing: &Timing,
        pool: u128,
        seals: &Seals,
    ) -> io::Result<()> {
        let connected = self.connect_lines(network, timing, pool, seals);
        self.gone.store(connected.is_err(), Ordering::Relaxed);
        connected
    }

    fn connect_lines(
        &self,
        network: &dyn Network,
        timing: &Timing,
        pool: u128,
        seals: &Seals,
    ) -> io::Result<()> {
        for place in &self.lines {
            let is_up = |line: &Arc<Line>| !line.is_broken();
            if place.read().unwrap_or_else(PoisonError::into_inner).as_ref().is_some_and(is_up) {
                continue;
            }
            let (line, reply) = greet(network, &self.address, timing, pool)?;
            let known = seals.epoch(self.index);
            if known != reply.epoch {
                seals.change_epoch(self.index, known, reply.epoch);
            }
            line.open(reply.epoch);
            let can = reply.vitals.map_or(0, |vitals| vitals.can);
            self.knows_parts.store(can & PARTS != 0, Ordering::Relaxed);
            self.note(&reply, || network.now());
            *self.ping.lock().unwrap_or_else(PoisonError::into_inner) = (network.now(), None);
            *place.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(line));
        }
        Ok(())
    }

    /// Connects again if that is due, and asks the node now and then how it is.
    pub fn tend(&self, network: &dyn Network, timing: &Timing, pool: u128, seals: &Seals) {
        let now = network.now();
        if !self.is_up() {
            let mut retry = self.retry.lock().unwrap_or_else(PoisonError::into_inner);
            if now >= retry.0 {
                let wait = match self.connect(network, timing, pool, seals) {
                    Ok(()) => RETRY_NS.0,
                    Err(_) => (retry.1 * 2).min(RETRY_NS.1),
                };
                *retry = (network.now() + wait, wait);
            }
            return;
        }
        let (Some(light), Some(heavy)) = (self.line(Weight::Light), self.line(Weight::Heavy))
        else {
            return;
        };
        heavy.sweep();
        let ping = &mut *self.ping.lock().unwrap_or_else(PoisonError::into_inner);
        match ping.1 {
            Some(id) => match light.wait(id, &mut None, 0) {
                Ok(reply) => {
                    self.note(&reply, || now);
                    ping.1 = None;
                }
                Err(Silence::Late) if now < ping.0 + timing.deadline_ns => {}
                Err(_) => {
                    ping.1 = None;
                    self.hang_up();
                }
            },
            None if now >= ping.0 + PING_NS => {
                *ping = (now, light.send(Kind::Ping, &[], &[]).ok());
            }
            None => {}
        }
    }
}

/// Connects to a node, and founds a pool or joins it.
fn greet(
    network: &dyn Network,
    node: &NodeAddress,
    timing: &Timing,
    pool: u128,
) -> io::Result<(Line, Reply)> {
    let line = Line::new(network.connect(node, timing.connect_ns)?, timing.spin_ns);
    let lease_ms = (timing.lease_ns / 1_000_000) as u32;
    let until = network.now() + timing.connect_ns;
    let silent = |silence| match silence {
        Silence::Late => io::Error::other("it does not answer"),
        Silence::Busy => io::Error::other(line.why().to_owned()),
        Silence::Broken => network.refusal(line.why()),
    };
    let id = line.send(Kind::Hello, &[hello(pool, lease_ms)], &[]).map_err(silent)?;
    let reply = line.wait(id, &mut None, until).map_err(silent)?;
    match reply.code {
        Code::Done => Ok((line, reply)),
        _ => Err(io::Error::other("it takes no more clients")),
    }
}

/// Asks a node how it is.
///
/// # Errors
/// If it cannot be reached, is not whom we take, or will not have us.
pub fn probe(network: &dyn Network, node: &NodeAddress, timing: &Timing) -> io::Result<Vitals> {
    // What it founds for us it may forget at once.
    let timing = Timing { lease_ns: 1_000_000, ..*timing };
    let (_, reply) = greet(network, node, &timing, random::number()?)?;
    reply.vitals.ok_or_else(|| io::Error::other("it does not say how it is"))
}

/// Asks a node for all that it counts.
///
/// # Errors
/// As [`probe`].
pub fn stats(
    network: &dyn Network,
    node: &NodeAddress,
    timing: &Timing,
) -> io::Result<Vec<(&'static Figure, u64)>> {
    let timing = Timing { lease_ns: 1_000_000, ..*timing };
    let (line, reply) = greet(network, node, &timing, random::number()?)?;
    line.open(reply.epoch);
    let silent = |_| io::Error::other(format!("it does not say what it counts: {}", line.why()));
    let id = line.send(Kind::Stats, &[], &[]).map_err(silent)?;
    let until = network.now() + timing.deadline_ns;
    let reply = line.wait(id, &mut None, until).map_err(silent)?;
    Ok(reply.figures.into_iter().filter_map(figures::of).collect())
}

/// Tells a node that the processes of `pool` are gone: it need not keep their pages until the lease is over.
///
/// # Errors
/// If it cannot be reached, is not whom we take, or does not answer. One that does not know of this keeps them that long.
pub fn leave(
    network: &dyn Network,
    node: &NodeAddress,
    timing: &Timing,
    pool: u128,
) -> io::Result<()> {
    let (line, reply) = greet(network, node, timing, pool)?;
    if reply.vitals.is_none_or(|vitals| vitals.can & LEAVING == 0) {
        return Ok(());
    }
    line.open(reply.epoch);
    let silent = |_| io::Error::other(format!("it does not let us leave: {}", line.why()));
    let id = line.send(Kind::Leave, &[], &[]).map_err(silent)?;
    line.wait(id, &mut None, network.now() + timing.deadline_ns).map_err(silent).map(drop)
}
