//! Memory nodes across a network: pages are spread over them, and kept by several if that is asked for.
//!
//! This side decides everything: where a page lies, under which version, and whether what comes back is what was
//! stored. A node only keeps what it is given. Pages are kept by the numbers of their slots, a numbering of the
//! store's own, so that renaming pages, and sharing them with a forked process, concerns nobody else.

mod line;
mod network;
mod offload;
mod part_reading;
mod part_writing;
mod parts;
mod peer;
mod placement;
mod reading;
mod repair;
mod writing;

use std::os::fd::{OwnedFd, RawFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use farside_wire::frame::Record;
use farside_wire::pool::Block;

use crate::keeper::Keeper;
use crate::offloading::Offloading;
use crate::sealing::Sealing;
pub use crate::seals::MOST_NODES;
use crate::seals::Seals;
use crate::slots::{RAW_UNITS, Slots};
use crate::troubles::Troubles;
use crate::{FarError, FarStore, Health, Offload, PartStore, Ticket};
pub use network::{Carrier, Network, NodeAddress, TcpNetwork, UcxNetwork};
use offload::OffloadLine;
use peer::Peer;
pub use peer::{leave, probe, stats};
use reading::{PageReadings, Readings};

/// How long things may take.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// A thread that waits for a node looks again and again for so long before it sleeps.
    pub spin_ns: u64,
    /// A read that takes longer than this is sent to another node, too, if one has the page.
    pub hedge_ns: u64,
    /// A node that does not answer for so long is taken to be gone.
    pub deadline_ns: u64,
    /// A connection is to be made within this time.
    pub connect_ns: u64,
    /// If no node that has a page can be reached for so long, it is lost.
    pub patience_ns: u64,
    /// A node is to keep the pages for so long when it hears nothing of us.
    pub lease_ns: u64,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            spin_ns: 50_000,
            hedge_ns: 10_000_000,
            deadline_ns: 1_000_000_000,
            connect_ns: 1_000_000_000,
            patience_ns: 30_000_000_000,
            lease_ns: 10_000_000_000,
        }
    }
}

/// Nodes, and how they are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// What carries messages to them.
    pub carrier: Carrier,
    /// Where they are.
    pub nodes: Vec<NodeAddress>,
    /// How many of them are to have each page.
    pub copies: usize,
    /// Whether nodes are to be unable to read the pages.
    pub seal: bool,
    /// How long things may take.
    pub timing: Timing,
}

/// Client side of nodes across a network.
pub struct Remote {
    keeper: Keeper,
    slots: Slots,
    seals: Seals,
    sealing: Sealing,
    /// Room for sealed pages that nobody uses now.
    buffers: Mutex<Vec<Vec<u8>>>,
    peers: Vec<Peer>,
    network: Box<dyn Network>,
    copies: usize,
    timing: Timing,
    pool: u128,
    readings: PageReadings,
    part_readings: part_reading::PartReadings,
    /// Pages of which parts are being stored.
    turns: parts::Turns,
    /// Whether parts of pages can be moved: all nodes that were there at the start know how to.
    by_parts: bool,
    repair: repair::Progress,
    troubles: Troubles,
    lost: AtomicBool,
    offloading: Offloading<OffloadLine>,
    /// In a forked child, which leaves repairs to its parent, and runs its functions itself.
    is_child: AtomicBool,
}

/// The slot that a block is.
fn slot_of(block: Block) -> u64 {
    u64::from(block.unit / RAW_UNITS)
}

impl Remote {
    /// Takes up the connection to the keeper of the run's tables, for a far region of `pages` pages, and connects to
    /// the nodes. Nodes that cannot be reached are done without: a program may start while one of several is lost.
    ///
    /// # Errors
    /// If no node can be reached.
    pub fn connect(
        socket: OwnedFd,
        cluster: &Cluster,
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
        cluster: &Cluster,
        network: Box<dyn Network>,
        pages: u64,
    ) -> Result<Self, FarError> {
        Self::with_tables(Keeper::alone(pages)?, cluster, network)
    }

    fn with_tables(
        (keeper, slots): (Keeper, Slots),
        cluster: &Cluster,
        network: Box<dyn Network>,
    ) -> Result<Self, FarError> {
        let peers = cluster.nodes.iter().zip(0..MOST_NODES);
        let mut remote = Self {
            pool: keeper.name,
            keeper,
            slots,
            seals: Seals::new(!cluster.seal)?,
            sealing: Sealing::new(cluster.seal)?,
            buffers: Mutex::default(),
            peers: peers.map(|(address, index)| Peer::new(address.clone(), index)).collect(),
            network,
            copies: cluster.copies.clamp(1, cluster.nodes.len().clamp(1, MOST_NODES)),
            timing: cluster.timing,
            readings: Readings::new(MOST_NODES),
            part_readings: Readings::new(1),
            turns: parts::Turns::default(),
            by_parts: false,
            repair: repair::Progress::default(),
            troubles: Troubles::default(),
            lost: AtomicBool::new(false),
            offloading: Offloading::default(),
            is_child: AtomicBool::new(false),
        };
        // All are tried, not only up to the first.
        let connect = |peer: &&Peer| {
            peer.connect(&*remote.network, &remote.timing, remote.pool, &remote.seals).is_ok()
        };
        let reached: Vec<&Peer> = remote.peers.iter().filter(connect).collect();
        if reached.is_empty() {
            return Err(FarError::Unreachable);
        }
        let know_parts = reached.into_iter().all(Peer::knows_parts);
        remote.by_parts = know_parts && remote.seals.block_checks().is_some();
        Ok(remote)
    }

    /// The name by which nodes know the pages of this run, and by which they are told to [`leave`] them.
    pub const fn pool(&self) -> u128 {
        self.pool
    }

    fn check(&self) -> Result<(), FarError> {
        if self.lost.load(Ordering::Acquire) { Err(FarError::NodeLost) } else { Ok(()) }
    }

    fn now(&self) -> u64 {
        self.network.now()
    }

    /// Tells the nodes that what lies in these blocks, which nobody uses any more, can be forgotten.
    fn forget(&self, blocks: &[Block]) {
        let bound = self.seals.next_version();
        let mut runs: Vec<(Record, u16)> = Vec::new();
        for slot in blocks.iter().map(|block| slot_of(*block)) {
            let nodes = self.seals.get(slot).nodes;
            self.seals.clear(slot);
            match runs.last_mut() {
                Some((run, of)) if run.slot + u64::from(run.check) == slot && *of == nodes => {
                    run.check += 1;
                }
                _ => runs.push((Record { slot, version: bound, check: 1, code: 0 }, nodes)),
            }
        }
        for (index, peer) in self.peers.iter().enumerate() {
            let mine = runs.iter().filter(|(_, nodes)| nodes >> index & 1 == 1);
            peer.forget(&mine.map(|(run, _)| *run).collect::<Vec<Record>>());
        }
    }
}

impl FarStore for Remote {
    /// What a node across a fast network takes: who asks wants to know how much dearer this is than a system call.
    fn wait_ns(&self) -> u64 {
        30_000
    }

    fn expect(&self, page: u64) {
        self.slots.expect(page);
    }

    fn begin_read(&self, first: u64, count: u32) -> Result<Ticket, FarError> {
        self.check()?;
        self.begin_reading(first, count)
    }

    fn is_ready(&self, ticket: &Ticket) -> bool {
        // Reads of parts are of no number of pages.
        if ticket.count > 0 { self.is_read(ticket) } else { self.are_parts_read(ticket) }
    }

    fn finish_read(&self, ticket: Ticket, into: &mut [u8]) -> Result<(), FarError> {
        self.finish_reading(ticket, into)
    }

    fn write(&self, first: u64, pages: &[u8]) -> Result<(), FarError> {
        self.write_runs(&[(first, pages)])
    }

    fn write_runs(&self, runs: &[(u64, &[u8])]) -> Result<(), FarError> {
        self.check()?;
        self.store_runs(runs, None)
    }

    fn discard(&self, first: u64, count: u64) -> Result<(), FarError> {
        if self.slots.held() == 0 {
            return Ok(());
        }
        let mut freed: Vec<Block> =
            (first..first + count).filter_map(|page| self.slots.clear(page)).collect();
        freed.sort_unstable_by_key(|block| block.unit);
        self.forget(&freed);
        self.slots.recycle(&freed);
        Ok(())
    }

    fn rename(&self, from: u64, to: u64, count: u64) -> Result<(), FarError> {
        for i in 0..count {
            self.slots.rename(from + i, to + i);
        }
        Ok(())
    }

    fn parts(&self) -> Option<&dyn PartStore> {
        self.by_parts.then_some(self)
    }

    fn offload(&self) -> Option<&dyn Offload> {
        (self.can_offload() && !self.is_child.load(Ordering::Relaxed)).then_some(self)
    }

    fn needs_tending(&self) -> bool {
        true
    }

    fn tend(&self) {
        for peer in &self.peers {
            peer.tend(&*self.network, &self.timing, self.pool, &self.seals);
        }
        if !self.is_child.load(Ordering::Relaxed) {
            self.repair_some();
        }
    }

    fn health(&self) -> Health {
        self.troubles.health(self.repair.lacking(), self.repair.lacking_ns(self.now()))
    }

    fn held(&self) -> u64 {
        self.slots.held()
    }

    fn before_fork(&self) -> Result<(), FarError> {
        if self.by_parts
            && let Some(checks) = self.seals.block_checks()
        {
            checks.prepare_all()?;
        }
        self.slots.before_fork()
    }

    fn after_fork_in_parent(&self, forked: bool) {
        self.slots.after_fork_in_parent(forked);
    }

    fn after_fork_in_child(&self, link: OwnedFd) -> Result<(), FarError> {
        self.is_child.store(true, Ordering::Relaxed);
        self.troubles.clear();
        self.repair.clear();
        self.turns.clear();
        self.keeper.rejoin(link, &self.slots)?;
        for peer in &self.peers {
            peer.leave_to_parent();
            // One that cannot be reached now may be later.
            let _ = peer.connect(&*self.network, &self.timing, self.pool, &self.seals);
        }
        Ok(())
    }

    fn link(&self) -> RawFd {
        self.keeper.raw()
    }

    fn mark_lost(&self) {
        self.lost.store(true, Ordering::Release);
    }
}
