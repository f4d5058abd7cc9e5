//! Repair: pages that too few nodes have are copied to others, a few at a time.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use farside_os::memory::PAGE;

use super::{Remote, Troubles, placement};

/// Slots looked at, and pages copied, at a time.
const LOOKS: u64 = 4096;
const COPIES: usize = 32;

/// Where the repair is.
#[derive(Debug, Default)]
pub struct Progress {
    next: AtomicU64,
}

impl Remote {
    /// Looks at some slots, and copies some of those pages that too few nodes have.
    pub(super) fn repair_some(&self) {
        if self.copies < 2 {
            return;
        }
        let high = self.seals.high();
        let mut slot = self.repair.next.load(Relaxed);
        let mut copied = 0;
        for _ in 0..LOOKS.min(high) {
            slot = if slot + 1 >= high { 0 } else { slot + 1 };
            let seal = self.seals.get(slot).0;
            let up = seal.nodes & self.up();
            if seal.nodes != 0 && up != 0 && (up.count_ones() as usize) < self.copies {
                copied += usize::from(self.copy(slot, up));
            }
            if copied == COPIES {
                break;
            }
        }
        self.repair.next.store(slot, Relaxed);
    }

    /// By bits: the nodes that can be asked.
    fn up(&self) -> u16 {
        let up = |(node, peer): (usize, &super::peer::Peer)| u16::from(peer.is_up()) << node;
        self.peers.iter().enumerate().map(up).sum()
    }

    /// Gives one node more what is in a slot; whether it was tried.
    fn copy(&self, slot: u64, have: u16) -> bool {
        let now = self.now();
        let can = |node: &usize| have >> node & 1 == 0 && self.peers[*node].takes_pages(now);
        let Some(to) = placement::order(slot, self.peers.len()).find(can) else { return false };
        let mut page = [0; PAGE];
        let from = have.trailing_zeros() as usize;
        if let Some((seal, _)) = self.read_copy(from, slot, &mut page)
            && self.write_copy(to, (slot, seal.version), &page)
            && self.seals.change_node(slot, seal.version, to, true)
        {
            Troubles::add(&self.troubles.repaired, 1);
        }
        true
    }
}
