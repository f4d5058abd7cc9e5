//! Where in the node's memory each page lies.
//!
//! The node's memory is cut into units of 1 KiB; a stored page occupies a block of one to four of them
//! (four if it is not compressed). A program keeps a map from page to block; several programs that
//! forked from one another share the blocks, each of which counts its users. All three tables are
//! shared memory that the node created, so that the node can give back what a killed program held.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicU16, AtomicU32, AtomicU64, Ordering};

use farside_os::descriptor;
use farside_os::memory::{self, PAGE};
use farside_wire::pool::{Block, FIRST_UNIT, MAX_UNITS, REFS_BYTES, REFS_HEADER, UNIT};

use crate::FarError;

/// Units of a page that is stored as it is.
pub const RAW_UNITS: u32 = (PAGE / UNIT) as u32;

/// Freed blocks are reused once so many are waiting; before that new ones are taken, because these
/// lie side by side.
const REUSE_FROM: usize = 1024;

/// Most blocks without users that are found at once.
const MOST_FOUND: usize = 4096;

/// The tables of one process.
pub struct Slots {
    pages: u64,
    map: AtomicPtr<AtomicU32>,
    map_file: Mutex<Option<OwnedFd>>,
    refs: &'static [AtomicU16],
    next: &'static AtomicU64,
    /// Units from this one on are not there.
    end: u64,
    free: Mutex<[Vec<u32>; 4]>,
    held: AtomicU64,
    /// One more than the highest page ever mapped.
    high: AtomicU64,
    pending: Mutex<Option<PendingMap>>,
}

/// A copy of the map, made for a child about to be forked.
struct PendingMap {
    file: OwnedFd,
    address: usize,
    high: u64,
}

fn map_len(pages: u64) -> usize {
    (pages as usize * 4).next_multiple_of(PAGE)
}

impl Slots {
    /// Takes the files of a new pool, for a far region of `pages` pages.
    pub fn new(pages: u64, refs: BorrowedFd<'_>, map: OwnedFd) -> Result<Self, FarError> {
        let refs_at = memory::map_shared(refs, REFS_BYTES as usize, "the node's reference counts")?;
        let map_at = memory::map_shared(map.as_fd(), map_len(pages), "the page map")?;
        // SAFETY: the mapping is as long as the two parts together, lives as long as the process, and
        // atomics are valid for any content.
        let (next, refs) = unsafe {
            (
                &*(refs_at as *const AtomicU64),
                std::slice::from_raw_parts(
                    (refs_at + REFS_HEADER) as *const AtomicU16,
                    MAX_UNITS as usize,
                ),
            )
        };
        // Unit 0 stays unused, so that an entry of 0 means "not stored".
        let _ = next.compare_exchange(0, FIRST_UNIT, Ordering::AcqRel, Ordering::Acquire);
        Ok(Self {
            pages,
            map: AtomicPtr::new(map_at as *mut AtomicU32),
            map_file: Mutex::new(Some(map)),
            refs,
            next,
            end: MAX_UNITS,
            free: Mutex::new([const { Vec::new() }; 4]),
            held: AtomicU64::new(0),
            high: AtomicU64::new(0),
            pending: Mutex::new(None),
        })
    }

    /// As many uncompressed pages at most can be stored, whose blocks are found again when the processes that used them
    /// are gone: nobody but their users may touch them.
    pub fn bound(&mut self, pages: u64) {
        self.end = pages.saturating_add(1).saturating_mul(RAW_UNITS.into()).min(MAX_UNITS);
    }

    fn entry(&self, page: u64) -> &AtomicU32 {
        assert!(page < self.pages, "page {page} beyond the far region");
        // SAFETY: the map has an entry for each page, checked above, and stays mapped.
        unsafe { &*self.map.load(Ordering::Acquire).add(page as usize) }
    }

    /// Has the processor load the entry of `page`.
    pub fn expect(&self, page: u64) {
        if page < self.pages {
            memory::prefetch(self.entry(page));
        }
    }

    /// Has the processor load the number of a block's users.
    pub fn expect_users(&self, block: Block) {
        memory::prefetch(&self.refs[block.unit as usize]);
    }

    /// Number of pages stored for this process.
    pub fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// Where `page` lies, if it is stored.
    pub fn block(&self, page: u64) -> Option<Block> {
        Block::unpack(self.entry(page).load(Ordering::Acquire))
    }

    /// The block of `page` if new content of `units` units may be written into it in place.
    pub fn writable_block(&self, page: u64, units: u32) -> Option<Block> {
        self.block(page).filter(|block| {
            block.units == units && self.refs[block.unit as usize].load(Ordering::Acquire) == 1
        })
    }

    /// Takes up to `count` blocks of `units` units that lie side by side, each with one user; returns the
    /// first, and how many they are: only one, once all memory has been used before.
    pub fn allocate_run(&self, count: u32, units: u32) -> Result<(Block, u32), FarError> {
        if count == 1
            && let Some(block) = self.reuse(units, REUSE_FROM)
        {
            return Ok((block, 1));
        }
        let fitting =
            |next: u64| (self.end.saturating_sub(next) / u64::from(units)).min(count.into());
        let take = |next| Some(next + fitting(next) * u64::from(units)).filter(|end| *end > next);
        let Ok(unit) = self.next.fetch_update(Ordering::AcqRel, Ordering::Acquire, take) else {
            let used = self.reuse(units, 0).or_else(|| self.find_left(units));
            return used.map(|block| (block, 1)).ok_or(FarError::Full);
        };
        let count = fitting(unit);
        for i in 0..count {
            self.refs[(unit + i * u64::from(units)) as usize].store(1, Ordering::Release);
        }
        Ok((Block { unit: unit as u32, units }, count as u32))
    }

    /// Finds slots for pages; says which of them nobody had before. Those lie side by side.
    pub fn find_room(
        &self,
        pages: &[(u64, &[u8])],
        blocks: &mut [(Block, bool)],
    ) -> Result<(), FarError> {
        let own = |at: usize| self.writable_block(pages[at].0, RAW_UNITS);
        let mut at = 0;
        while at < blocks.len() {
            if let Some(block) = own(at) {
                blocks[at] = (block, false);
                at += 1;
                continue;
            }
            let run = 1 + (at + 1..blocks.len()).take_while(|at| own(*at).is_none()).count();
            let (block, run) = self.allocate_run(run as u32, RAW_UNITS)?;
            let run = run as usize;
            for i in 0..run {
                let unit = block.unit + i as u32 * RAW_UNITS;
                blocks[at + i] = (Block { unit, units: RAW_UNITS }, true);
            }
            at += run;
        }
        Ok(())
    }

    /// Takes a block that was freed, if there are more than `least`.
    fn reuse(&self, units: u32, least: usize) -> Option<Block> {
        let mut free = self.lock_free();
        let list = &mut free[units as usize - 1];
        while list.len() > least {
            let block = Block { unit: list.pop()?, units };
            // Another process may have found it meanwhile.
            if self.seize(block) {
                return Some(block);
            }
        }
        None
    }

    /// Becomes the only user of a block that has none; false if it has.
    fn seize(&self, block: Block) -> bool {
        let users = &self.refs[block.unit as usize];
        users.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Takes a block that nobody uses, whoever freed it: of a store that is bounded, where all blocks are as long.
    fn find_left(&self, units: u32) -> Option<Block> {
        if self.end == MAX_UNITS || units != RAW_UNITS {
            return None;
        }
        let mut free = self.lock_free();
        let list = &mut free[units as usize - 1];
        let end = self.next.load(Ordering::Acquire).min(self.end) as u32;
        let unused = |unit: &u32| self.refs[*unit as usize].load(Ordering::Acquire) == 0;
        list.extend((RAW_UNITS..end).step_by(RAW_UNITS as usize).filter(unused).take(MOST_FOUND));
        list.reverse();
        drop(free);
        self.reuse(units, 0)
    }

    /// Of blocks that nobody uses, those that nobody else has found yet; the caller is their only user until it
    /// [gives them back](Self::give_back).
    pub fn seize_all(&self, mut blocks: Vec<Block>) -> Vec<Block> {
        blocks.retain(|block| self.seize(*block));
        blocks
    }

    /// Makes blocks available again that no page was ever said to lie in.
    pub fn give_back(&self, blocks: &[Block]) {
        for block in blocks {
            self.refs[block.unit as usize].store(0, Ordering::Release);
        }
        self.recycle(blocks);
    }

    /// Says that `page` now lies in `block`, and frees the block it had before.
    pub fn set(&self, page: u64, block: Block) {
        self.high.fetch_max(page + 1, Ordering::Relaxed);
        let old = self.entry(page).swap(block.pack(), Ordering::AcqRel);
        match Block::unpack(old) {
            Some(old) => self.release(old),
            None => _ = self.held.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Says that `page`, which is not stored, lies in a block of zeros; false, and it has no other user, if it is.
    pub fn set_if_absent(&self, page: u64, block: Block) -> bool {
        if page >= self.pages {
            return false;
        }
        let entry = self.entry(page);
        if entry.compare_exchange(0, block.pack(), Ordering::AcqRel, Ordering::Acquire).is_err() {
            return false;
        }
        self.high.fetch_max(page + 1, Ordering::Relaxed);
        self.held.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// Forgets `page`; returns its block if nobody uses it any more.
    pub fn clear(&self, page: u64) -> Option<Block> {
        let block = Block::unpack(self.entry(page).swap(0, Ordering::AcqRel))?;
        self.held.fetch_sub(1, Ordering::Relaxed);
        self.drop_user(block).then_some(block)
    }

    /// Moves the entry of `from` to `to`.
    pub fn rename(&self, from: u64, to: u64) {
        let entry = self.entry(from).swap(0, Ordering::AcqRel);
        if entry != 0 {
            self.high.fetch_max(to + 1, Ordering::Relaxed);
            let old = self.entry(to).swap(entry, Ordering::AcqRel);
            if let Some(old) = Block::unpack(old) {
                self.held.fetch_sub(1, Ordering::Relaxed);
                self.release(old);
            }
        }
    }

    /// Makes blocks that nobody uses available again, lowest first.
    pub fn recycle(&self, blocks: &[Block]) {
        let mut free = self.lock_free();
        for block in blocks.iter().rev() {
            free[block.units as usize - 1].push(block.unit);
        }
    }

    fn release(&self, block: Block) {
        if self.drop_user(block) {
            self.recycle(&[block]);
        }
    }

    fn drop_user(&self, block: Block) -> bool {
        self.refs[block.unit as usize].fetch_sub(1, Ordering::AcqRel) == 1
    }

    fn lock_free(&self) -> std::sync::MutexGuard<'_, [Vec<u32>; 4]> {
        self.free.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn lock_pending(&self) -> std::sync::MutexGuard<'_, Option<PendingMap>> {
        self.pending.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Makes the copy of the map that the child of the coming fork will use, and counts that child as
    /// a user of every block.
    pub fn before_fork(&self) -> Result<(), FarError> {
        let file = memory::anonymous_file(c"farside-map", map_len(self.pages) as u64)?;
        let address =
            memory::map_shared(file.as_fd(), map_len(self.pages), "the child's page map")?;
        let high = self.high.load(Ordering::Relaxed);
        for page in 0..high {
            let entry = self.entry(page).load(Ordering::Acquire);
            if let Some(block) = Block::unpack(entry) {
                self.refs[block.unit as usize].fetch_add(1, Ordering::AcqRel);
                // SAFETY: the new map is as long as this one, and nobody else knows it yet.
                unsafe { (address as *mut u32).add(page as usize).write(entry) };
            }
        }
        *self.lock_pending() = Some(PendingMap { file, address, high });
        Ok(())
    }

    /// Drops the copy: the child has it, or there is no child.
    pub fn after_fork_in_parent(&self, forked: bool) {
        let Some(pending) = self.lock_pending().take() else { return };
        if !forked {
            for page in 0..pending.high {
                if let Some(block) = self.block(page) {
                    self.release(block);
                }
            }
        }
        // Failing to unmap costs address space only.
        let _ = memory::unmap(pending.address, map_len(self.pages), "the child's page map");
    }

    /// Switches to the copy made before the fork; returns it for the node.
    pub fn after_fork_in_child(&self) -> Result<OwnedFd, FarError> {
        let Some(pending) = self.lock_pending().take() else {
            return Err(FarError::NodeLost);
        };
        let old = self.map.swap(pending.address as *mut AtomicU32, Ordering::AcqRel);
        // Failing to unmap costs address space only.
        let _ = memory::unmap(old as usize, map_len(self.pages), "the parent's page map");
        // Blocks that were free for the parent are the parent's to reuse.
        for list in self.lock_free().iter_mut() {
            list.clear();
        }
        let file = pending.file;
        let copy = descriptor::duplicate(file.as_fd())?;
        *self.map_file.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(file);
        Ok(copy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_was_freed_is_used_again_when_there_is_no_other() {
        let refs = memory::anonymous_file(c"refs", REFS_BYTES).unwrap();
        let map = memory::anonymous_file(c"map", map_len(1000) as u64).unwrap();
        let next = MAX_UNITS - u64::from(10 * RAW_UNITS);
        memory::write_at(refs.as_fd(), 0, &next.to_le_bytes(), "refs").unwrap();
        let slots = Slots::new(1000, refs.as_fd(), map).unwrap();
        let (first, run) = slots.allocate_run(10, RAW_UNITS).unwrap();
        assert_eq!(run, 10);
        for i in 0..10 {
            slots.set(i, Block { unit: first.unit + i as u32 * RAW_UNITS, ..first });
        }
        assert_eq!(slots.allocate_run(3, RAW_UNITS), Err(FarError::Full));
        let freed: Vec<Block> = (2..4).filter_map(|page| slots.clear(page)).collect();
        slots.recycle(&freed);
        assert_eq!(slots.allocate_run(3, RAW_UNITS), Ok((freed[0], 1)));
        assert_eq!(slots.allocate_run(1, RAW_UNITS), Ok((freed[1], 1)));
        assert_eq!(slots.allocate_run(1, RAW_UNITS), Err(FarError::Full));
    }

    #[test]
    fn what_a_process_left_behind_is_found_when_there_is_nothing_else() {
        let refs = memory::anonymous_file(c"refs", REFS_BYTES).unwrap();
        let tables = || {
            let map = memory::anonymous_file(c"map", map_len(100) as u64).unwrap();
            let mut slots = Slots::new(100, refs.as_fd(), map).unwrap();
            slots.bound(10);
            slots
        };
        let (gone, other) = (tables(), tables());
        let (first, run) = gone.allocate_run(10, RAW_UNITS).unwrap();
        assert_eq!(run, 10);
        for i in 0..10 {
            gone.set(i, Block { unit: first.unit + i as u32 * RAW_UNITS, ..first });
        }
        assert_eq!(other.allocate_run(1, RAW_UNITS), Err(FarError::Full));
        let freed: Vec<Block> = [7, 3].into_iter().filter_map(|page| gone.clear(page)).collect();
        let lower = Block { unit: first.unit + 3 * RAW_UNITS, ..first };
        assert_eq!(other.allocate_run(5, RAW_UNITS), Ok((lower, 1)));
        // Who freed it has no right to it any more.
        gone.recycle(&freed);
        assert_eq!(gone.allocate_run(1, RAW_UNITS), Ok((freed[0], 1)));
        assert_eq!(gone.allocate_run(1, RAW_UNITS), Err(FarError::Full));
        assert_eq!(other.allocate_run(1, RAW_UNITS), Err(FarError::Full));
    }
}
