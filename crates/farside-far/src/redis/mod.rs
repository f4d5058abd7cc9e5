//! A cluster of servers that speak Redis's protocol as far memory: what is written counts as stored once all replicas
//! of its shard have it, and what is read is of the version that was written, or an error.
//!
//! This side knows the version of each page, and by what its content is recognised, as with nodes of our own; the
//! servers know nothing of pages.

mod extents;
mod line;
mod profile;
mod reading;
pub mod resp;
mod server;
mod tending;
mod topology;
mod writing;

use std::os::fd::{OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use farside_wire::pool::Block;

use crate::keeper::Keeper;
use crate::remote::{Network, NodeAddress, Timing};
use crate::sealing::Sealing;
use crate::seals::Seals;
use crate::slots::{RAW_UNITS, Slots};
use crate::troubles::Troubles;
use crate::{FarError, FarStore, Health, Ticket};
use extents::{Extents, Names, place};
pub use profile::Finding;
use reading::Readings;
use server::{Errand, Server};
use tending::{Lacking, Question};

pub use server::Login;

/// A cluster, and how it is used.
#[derive(Clone)]
pub struct RedisCluster {
    /// Some of its servers: these say which others there are.
    pub servers: Vec<NodeAddress>,
    /// Who we are.
    pub login: Login,
    /// How many replicas at least are to have each page besides the primary; all that there are have it in any case.
    pub replicas: usize,
    /// Whether servers are to be unable to read the pages.
    pub seal: bool,
    /// What the names of all that the run stores begin with.
    pub pool: String,
    /// How long things may take.
    pub timing: Timing,
}

/// A part of the cluster: servers that have the same keys.
struct Shard {
    primary: Arc<Server>,
    replicas: Vec<Arc<Server>>,
}

impl Shard {
    /// The primary, then the others.
    fn all(&self) -> impl Iterator<Item = &Arc<Server>> {
        std::iter::once(&self.primary).chain(&self.replicas)
    }
}

/// Who has what.
#[derive(Default)]
struct Cluster {
    shards: Vec<Shard>,
    /// By part of the keys: the shard.
    owners: Vec<u16>,
}

impl Cluster {
    /// The number of the shard that has a part of the keys, if one has.
    fn owner(&self, part: usize) -> Option<u16> {
        let owner = self.owners.get(part).copied()?;
        (usize::from(owner) < self.shards.len()).then_some(owner)
    }

    fn shard(&self, part: usize) -> Option<&Shard> {
        self.owner(part).and_then(|owner| self.shards.get(usize::from(owner)))
    }
}

/// Client side of a cluster.
pub struct Redis {
    keeper: Keeper,
    slots: Slots,
    seals: Seals,
    sealing: Sealing,
    extents: Extents,
    names: Names,
    /// Room for sealed pages that nobody uses now.
    buffers: Mutex<Vec<Vec<u8>>>,
    /// All servers ever heard of.
    servers: Mutex<Vec<Arc<Server>>>,
    cluster: RwLock<Arc<Cluster>>,
    network: Box<dyn Network>,
    login: Login,
    replicas: usize,
    timing: Timing,
    readings: Readings,
    question: Mutex<Question>,
    wants_refresh: AtomicBool,
    /// The extent to be renewed next.
    renewing: AtomicU64,
    /// Extents that may be empty, since when.
    empty: Mutex<Vec<(u64, u64)>>,
    lacking: Lacking,
    troubles: Troubles,
    lost: AtomicBool,
}

/// The slot that a block is.
fn slot_of(block: Block) -> u64 {
    u64::from(block.unit / RAW_UNITS)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Redis {
    /// Takes up the connection to the keeper of the run's tables, for a far region of `pages` pages, and connects to
    /// the cluster.
    ///
    /// # Errors
    /// If no server can be reached that knows the cluster.
    pub fn connect(
        socket: OwnedFd,
        cluster: &RedisCluster,
        network: Box<dyn Network>,
        pages: u64,
    ) -> Result<Self, FarError> {
        let (keeper, _, slots) = Keeper::join(socket, pages)?;
        Self::with_tables((keeper, slots), cluster, network)
    }

    /// A client that is no program's, and never forks: it has tables of its own.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn alone(
        cluster: &RedisCluster,
        network: Box<dyn Network>,
        pages: u64,
    ) -> Result<Self, FarError> {
        Self::with_tables(Keeper::alone(pages)?, cluster, network)
    }

    fn with_tables(
        (keeper, slots): (Keeper, Slots),
        cluster: &RedisCluster,
        network: Box<dyn Network>,
    ) -> Result<Self, FarError> {
        let name = format!("{}:{:016x}:", cluster.pool, network.draw()?);
        let redis = Self {
            keeper,
            slots,
            seals: Seals::new(false)?,
            sealing: Sealing::new(cluster.seal)?,
            extents: Extents::new()?,
            names: Names::new(name),
            buffers: Mutex::default(),
            servers: Mutex::new(cluster.servers.iter().map(tending::known_as).collect()),
            cluster: RwLock::default(),
            network,
            login: cluster.login.clone(),
            replicas: cluster.replicas,
            timing: cluster.timing,
            readings: Readings::new(),
            question: Mutex::default(),
            wants_refresh: AtomicBool::new(true),
            renewing: AtomicU64::new(u64::MAX),
            empty: Mutex::default(),
            lacking: Lacking::default(),
            troubles: Troubles::default(),
            lost: AtomicBool::new(false),
        };
        if redis.find_cluster() { Ok(redis) } else { Err(FarError::Unreachable) }
    }

    fn check(&self) -> Result<(), FarError> {
        if self.lost.load(Ordering::Acquire) { Err(FarError::NodeLost) } else { Ok(()) }
    }

    fn now(&self) -> u64 {
        self.network.now()
    }

    fn cluster(&self) -> Arc<Cluster> {
        Arc::clone(&self.cluster.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Has the servers asked soon who has what.
    fn want_refresh(&self) {
        self.wants_refresh.store(true, Ordering::Relaxed);
    }

    /// Nothing is stored in a slot any more.
    fn leave(&self, slot: u64) {
        self.seals.clear(slot);
        let (extent, _) = place(slot);
        if self.extents.leave(extent) {
            lock(&self.empty).push((self.now(), extent));
        }
    }
}

impl FarStore for Redis {
    /// What a server across a fast network takes: who asks wants to know how much dearer this is than a system call.
    fn wait_ns(&self) -> u64 {
        60_000
    }

    fn expect(&self, page: u64) {
        self.slots.expect(page);
    }

    fn begin_read(&self, first: u64, count: u32) -> Result<Ticket, FarError> {
        self.check()?;
        self.begin_reading(first, count)
    }

    fn is_ready(&self, ticket: &Ticket) -> bool {
        self.is_read(ticket)
    }

    fn finish_read(&self, ticket: Ticket, into: &mut [u8]) -> Result<(), FarError> {
        self.finish_reading(ticket, into)
    }

    fn write(&self, first: u64, pages: &[u8]) -> Result<(), FarError> {
        self.write_runs(&[(first, pages)])
    }

    fn write_runs(&self, runs: &[(u64, &[u8])]) -> Result<(), FarError> {
        self.check()?;
        self.store_runs(runs)
    }

    fn discard(&self, first: u64, count: u64) -> Result<(), FarError> {
        if self.slots.held() == 0 {
            return Ok(());
        }
        let mut freed: Vec<Block> =
            (first..first + count).filter_map(|page| self.slots.clear(page)).collect();
        freed.sort_unstable_by_key(|block| block.unit);
        freed.iter().for_each(|block| self.leave(slot_of(*block)));
        self.slots.recycle(&freed);
        Ok(())
    }

    fn rename(&self, from: u64, to: u64, count: u64) -> Result<(), FarError> {
        for i in 0..count {
            self.slots.rename(from + i, to + i);
        }
        Ok(())
    }

    fn needs_tending(&self) -> bool {
        true
    }

    fn tend(&self) {
        self.tend_servers();
        self.refresh();
        self.renew_some();
        self.end_empty();
    }

    fn health(&self) -> Health {
        self.troubles.health(self.lacking.pages(), self.lacking.ns(self.now()))
    }

    fn held(&self) -> u64 {
        self.slots.held()
    }

    fn before_fork(&self) -> Result<(), FarError> {
        self.slots.before_fork()
    }

    fn after_fork_in_parent(&self, forked: bool) {
        self.slots.after_fork_in_parent(forked);
    }

    fn after_fork_in_child(&self, link: OwnedFd) -> Result<(), FarError> {
        self.troubles.clear();
        self.lacking.clear();
        *lock(&self.question) = Question::default();
        self.keeper.rejoin(link, &self.slots)?;
        lock(&self.servers).iter().for_each(|server| server.leave_to_parent());
        // Servers that cannot be reached now may be later.
        self.tend_servers();
        Ok(())
    }

    fn link(&self) -> RawFd {
        self.keeper.raw()
    }

    fn mark_lost(&self) {
        self.lost.store(true, Ordering::Release);
    }
}

/// Deletes all that a run whose processes are gone has stored.
///
/// # Errors
/// If no server can be reached that knows the cluster.
pub fn forget_pool(cluster: &RedisCluster, network: Box<dyn Network>) -> Result<u64, FarError> {
    Ok(Redis::alone(cluster, network, 1)?.delete_all(&cluster.pool))
}

/// Looks whether a cluster is set up so that no page is ever lost while a copy of it is left.
///
/// # Errors
/// If no server can be reached that knows the cluster.
pub fn check_profile(
    cluster: &RedisCluster,
    network: Box<dyn Network>,
) -> Result<Vec<Finding>, FarError> {
    let redis = Redis::alone(cluster, network, 1)?;
    redis.find_replicas();
    Ok(redis.findings())
}

/// Commands to every server are asked by it.
const ALL: [Errand; 3] = [Errand::Demand, Errand::Ahead, Errand::Store];
