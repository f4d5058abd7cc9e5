//! Repair: pages that too few nodes have are copied to others, and pages of a node that is about to end are moved, a
//! few at a time.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use farside_os::memory::PAGE;
use farside_wire::frame::Record;

use super::peer::Peer;
use super::{Remote, placement};
use crate::seals::Seal;
use crate::troubles::Troubles;

/// Slots looked at, and pages copied, at a time.
const LOOKS: u64 = 4096;
const COPIES: usize = 32;

/// Where the repair is.
#[derive(Debug, Default)]
pub struct Progress {
    next: AtomicU64,
    /// Pages that lack copies: seen in this round, and in the last whole one.
    seen: AtomicU64,
    lacking: AtomicU64,
    /// Since when there are such, or 0; and for how long there were before.
    since: AtomicU64,
    before_ns: AtomicU64,
}

impl Progress {
    /// Pages that lack copies.
    pub fn lacking(&self) -> u64 {
        self.lacking.load(Relaxed)
    }

    /// How long there have been pages that lack copies.
    pub fn lacking_ns(&self, now: u64) -> u64 {
        let since = self.since.load(Relaxed);
        let this_time = if since == 0 { 0 } else { now.saturating_sub(since) };
        self.before_ns.load(Relaxed) + this_time
    }

    /// In a forked child, which repairs nothing.
    pub fn clear(&self) {
        for counter in [&self.seen, &self.lacking, &self.since, &self.before_ns] {
            counter.store(0, Relaxed);
        }
    }

    fn note_lacking(&self, now: u64) {
        self.seen.fetch_add(1, Relaxed);
        if self.since.load(Relaxed) == 0 {
            self.since.store(now, Relaxed);
        }
        // A round takes long where much is lacking.
        self.lacking.fetch_max(self.seen.load(Relaxed), Relaxed);
    }

    fn note_round(&self, now: u64) {
        let lacking = self.seen.swap(0, Relaxed);
        self.lacking.store(lacking, Relaxed);
        if lacking == 0 && self.since.load(Relaxed) != 0 {
            self.before_ns.store(self.lacking_ns(now), Relaxed);
            self.since.store(0, Relaxed);
        }
    }
}

impl Remote {
    /// Looks at some slots, and copies some of those pages that too few nodes have.
    pub(super) fn repair_some(&self) {
        let staying = self.nodes_that(|peer| peer.is_up() && !peer.is_draining());
        let leaving = self.nodes_that(Peer::is_draining);
        if staying == 0 || self.copies < 2 && leaving == 0 {
            return;
        }
        let high = self.seals.high();
        let mut slot = self.repair.next.load(Relaxed);
        let mut copied = 0;
        for _ in 0..LOOKS.min(high) {
            slot += 1;
            if slot >= high {
                slot = 0;
                self.repair.note_round(self.now());
            }
            let seal = self.seals.get(slot);
            if seal.nodes == 0 {
                continue;
            }
            if ((seal.nodes & staying).count_ones() as usize) < self.copies {
                self.repair.note_lacking(self.now());
                copied += usize::from(self.copy(slot, seal));
            } else if seal.nodes & leaving != 0 {
                self.leave(slot, seal, leaving);
            }
            if copied == COPIES {
                break;
            }
        }
        self.repair.next.store(slot, Relaxed);
    }

    /// By bits: the nodes of that kind.
    pub(super) fn nodes_that(&self, are: impl Fn(&Peer) -> bool) -> u16 {
        let bit = |(node, peer): (usize, &Peer)| u16::from(are(peer)) << node;
        self.peers.iter().enumerate().map(bit).sum()
    }

    /// Gives one node more what is in a slot; whether it was tried.
    pub(super) fn copy(&self, slot: u64, seal: Seal) -> bool {
        let now = self.now();
        let can_give = |node: &usize| seal.is_at(*node) && self.peers[*node].is_up();
        let by_blocks = self.seals.blocks(slot).is_some();
        let can_take = |node: &usize| {
            let peer = &self.peers[*node];
            !seal.is_at(*node) && peer.takes_pages(now) && (peer.knows_parts() || !by_blocks)
        };
        let mut order = placement::order(slot, self.peers.len());
        let Some(to) = order.find(can_take) else { return false };
        let Some(from) = (0..self.peers.len()).find(can_give) else { return false };
        let mut page = [0; PAGE];
        if let Some(version) = self.read_copy(from, slot, &mut page)
            && self.write_copy(to, (slot, version), &page)
            && self.seals.change_node(slot, version, to, true)
        {
            Troubles::add(&self.troubles.repaired, 1);
        }
        true
    }

    /// Nodes that are about to end need not have a page any more that enough others have.
    fn leave(&self, slot: u64, seal: Seal, leaving: u16) {
        for (node, peer) in self.peers.iter().enumerate() {
            if seal.is_at(node)
                && leaving >> node & 1 == 1
                && self.seals.change_node(slot, seal.version, node, false)
            {
                // A younger version is not there, or is kept.
                peer.forget(&[Record { slot, version: seal.version + 1, check: 1, code: 0 }]);
            }
        }
    }
}
