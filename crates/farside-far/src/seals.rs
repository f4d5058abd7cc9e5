//! What this side knows of each stored page: its version, its checksum or those of its blocks, and which nodes have it.
//!
//! The table lies in memory that forked processes share, as they share the slots.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};

use farside_os::memory::{self, PAGE};
use farside_wire::pool::MAX_UNITS;

use crate::FarError;
use crate::block_checks::{BlockChecks, Grain};
use crate::slots::RAW_UNITS;

/// Most nodes of a run.
pub const MOST_NODES: usize = 16;

/// Slots of a run.
pub const SLOTS: u64 = MAX_UNITS / RAW_UNITS as u64;

/// Bytes of the table: what all slots share, then an entry for each.
const BYTES: usize = PAGE + SLOTS as usize * size_of::<Entry>();

#[repr(C)]
struct Entry {
    /// Version and nodes of the page.
    seal: AtomicU64,
    /// By what the page is recognised; if its blocks are, how long these are in the second one.
    check: [AtomicU64; 2],
}

/// What all slots share.
#[repr(C)]
struct Shared {
    /// The last version given out.
    version: AtomicU64,
    /// By node: the epoch of the pool there, or 0.
    epochs: [AtomicU64; MOST_NODES],
    /// One more than the highest slot ever sealed.
    high: AtomicU64,
}

/// A version of a page, and the nodes that have it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Seal {
    /// The version; never 0.
    pub version: u64,
    /// By bits: the nodes.
    pub nodes: u16,
}

impl Seal {
    fn pack(self) -> u64 {
        self.version << MOST_NODES | u64::from(self.nodes)
    }

    fn unpack(word: u64) -> Self {
        Self { version: word >> MOST_NODES, nodes: word as u16 }
    }

    /// Whether that node has the page.
    pub fn is_at(self, node: usize) -> bool {
        self.nodes >> node & 1 == 1
    }
}

/// The table.
pub struct Seals {
    shared: &'static Shared,
    entries: &'static [Entry],
    blocks: Option<BlockChecks>,
}

impl Seals {
    /// An empty one; if pages are recognised `by_blocks`, with room for their checksums. Without that, second halves of
    /// what pages are recognised by may be any number.
    pub fn new(by_blocks: bool) -> Result<Self, FarError> {
        let file = memory::anonymous_file(c"farside-seals", BYTES as u64)?;
        let at = memory::map_shared(file.as_fd(), BYTES, "the table of versions")?;
        // SAFETY: the mapping is as long as the two parts together, lives as long as the process, and atomics are valid
        // for any content.
        let (shared, entries) = unsafe {
            (
                &*(at as *const Shared),
                std::slice::from_raw_parts((at + PAGE) as *const Entry, SLOTS as usize),
            )
        };
        let blocks = by_blocks.then(BlockChecks::default);
        Ok(Self { shared, entries, blocks })
    }

    /// Versions that nothing has had, as many as asked for; returns the first.
    pub fn take_versions(&self, count: u64) -> u64 {
        self.shared.version.fetch_add(count, Ordering::Relaxed) + 1
    }

    /// A version younger than all so far.
    pub fn next_version(&self) -> u64 {
        self.shared.version.load(Ordering::Relaxed) + 1
    }

    /// What is stored in `slot`.
    pub fn get(&self, slot: u64) -> Seal {
        Seal::unpack(self.entries[slot as usize].seal.load(Ordering::Acquire))
    }

    /// By what the content of `slot` is recognised: right as long as nothing else is stored there.
    pub fn check(&self, slot: u64) -> u128 {
        let [low, high] = &self.entries[slot as usize].check;
        u128::from(high.load(Ordering::Acquire)) << 64 | u128::from(low.load(Ordering::Acquire))
    }

    /// Says what is stored in `slot`, which is the caller's.
    pub fn set(&self, slot: u64, seal: Seal, check: u128) {
        let entry = &self.entries[slot as usize];
        entry.check[0].store(check as u64, Ordering::Release);
        entry.check[1].store((check >> 64) as u64, Ordering::Release);
        entry.seal.store(seal.pack(), Ordering::Release);
        self.shared.high.fetch_max(slot + 1, Ordering::Relaxed);
    }

    /// The checksums of blocks, if pages can be recognised by these.
    pub fn block_checks(&self) -> Option<&BlockChecks> {
        self.blocks.as_ref()
    }

    /// How long the blocks are by which the content of `slot` is recognised, and their checksums; `None` if the whole page
    /// is.
    pub fn blocks(&self, slot: u64) -> Option<(Grain, &BlockChecks)> {
        let blocks = self.blocks.as_ref()?;
        let packed = self.entries[slot as usize].check[1].load(Ordering::Acquire);
        Grain::unpack(packed).map(|grain| (grain, blocks))
    }

    /// As [`set`](Self::set) for a page that is recognised by blocks, of which `parts` were stored with their places in it:
    /// all of it, if it was not recognised by such blocks before. The table
    /// of these has been [prepared](BlockChecks::prepare).
    pub fn set_blocks<'a>(
        &self,
        slot: u64,
        seal: Seal,
        grain: Grain,
        parts: impl Iterator<Item = (usize, &'a [u8])>,
    ) {
        let Some(blocks) = &self.blocks else { return };
        let entry = &self.entries[slot as usize];
        parts.for_each(|(at, bytes)| blocks.set(slot, grain, at..at + bytes.len(), bytes));
        entry.check[1].store(grain.pack(), Ordering::Release);
        entry.seal.store(seal.pack(), Ordering::Release);
        self.shared.high.fetch_max(slot + 1, Ordering::Relaxed);
    }

    /// Nothing is stored in `slot`.
    pub fn clear(&self, slot: u64) {
        self.entries[slot as usize].seal.store(0, Ordering::Release);
    }

    /// Says that a node has the page, or has not, unless there is another version by now; returns whether so.
    pub fn change_node(&self, slot: u64, version: u64, node: usize, has: bool) -> bool {
        let change = |word| {
            let seal = Seal::unpack(word);
            let nodes = if has { seal.nodes | 1 << node } else { seal.nodes & !(1 << node) };
            (seal.version == version).then_some(Seal { nodes, ..seal }.pack())
        };
        let seal = &self.entries[slot as usize].seal;
        seal.fetch_update(Ordering::AcqRel, Ordering::Acquire, change).is_ok()
    }

    /// One more than the highest slot that something was ever stored in.
    pub fn high(&self) -> u64 {
        self.shared.high.load(Ordering::Relaxed)
    }

    /// The epoch of the pool at a node, or 0 if there is none yet.
    pub fn epoch(&self, node: usize) -> u64 {
        self.shared.epochs[node].load(Ordering::Acquire)
    }

    /// The pool at a node is another one: what was there is lost. Of several processes that find out, one says so.
    pub fn change_epoch(&self, node: usize, old: u64, new: u64) {
        let epoch = &self.shared.epochs[node];
        if epoch.compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire).is_ok() && old != 0
        {
            for slot in 0..self.high() {
                let version = self.get(slot).version;
                self.change_node(slot, version, node, false);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_noted_only_for_the_version_it_has() {
        let seals = Seals::new(false).unwrap();
        let version = seals.take_versions(2);
        assert_eq!((version, seals.next_version()), (1, 3));
        seals.set(7, Seal { version, nodes: 0b10 }, 99);
        assert!(seals.change_node(7, version, 0, true));
        assert_eq!((seals.get(7), seals.check(7)), (Seal { version, nodes: 0b11 }, 99));
        assert!(!seals.change_node(7, version + 1, 1, false));
        assert!(seals.get(7).is_at(1));
        seals.clear(7);
        assert_eq!(seals.get(7), Seal { version: 0, nodes: 0 });
    }

    #[test]
    fn a_page_is_recognised_as_a_whole_or_by_blocks() {
        let seals = Seals::new(true).unwrap();
        let (seal, grain) = (Seal { version: 1, nodes: 1 }, Grain::within(128));
        seals.block_checks().unwrap().prepare(grain).unwrap();
        seals.set(7, seal, 99);
        assert!(seals.blocks(7).is_none());
        seals.set_blocks(7, seal, grain, [(0, &[1; PAGE][..])].into_iter());
        seals.set_blocks(7, Seal { version: 2, ..seal }, grain, [(256, &[2; 128][..])].into_iter());
        let (known, checks) = seals.blocks(7).unwrap();
        let mut page = [1; PAGE];
        page[256..384].fill(2);
        assert_eq!((known, seals.get(7).version), (grain, 2));
        assert!(checks.are_right(7, grain, 0..PAGE, &page));
        seals.set(7, seal, 99);
        assert!(seals.blocks(7).is_none());
        assert_eq!(seals.check(7), 99);
    }

    #[test]
    fn what_a_node_lost_is_nowhere_or_elsewhere() {
        let seals = Seals::new(false).unwrap();
        seals.change_epoch(1, 0, 5);
        for slot in 0..100 {
            seals.set(slot, Seal { version: slot + 1, nodes: 0b11 }, slot.into());
        }
        seals.change_epoch(1, 4, 6);
        assert!(seals.get(50).is_at(1), "another process was quicker");
        seals.change_epoch(1, 5, 6);
        assert_eq!(seals.epoch(1), 6);
        assert!((0..100).all(|slot| seals.get(slot) == Seal { version: slot + 1, nodes: 1 }));
    }
}
