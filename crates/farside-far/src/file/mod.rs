//! A file on storage of this machine: pages beyond memory, and beyond the page cache where the file system allows that.
//!
//! The file has no name, so that nothing is left of it when the last process that has it open ends, however that
//! happens. Processes that forked from one another share the file, the slots, and what is known of each; a program that is
//! started anew has a file of its own.

mod opening;
mod reading;
mod ring;
mod writing;

use std::os::fd::{OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use farside_os::memory::PAGE;
use farside_os::storage;
use farside_wire::pool::Block;

use crate::keeper::Keeper;
use crate::sealing::Sealing;
use crate::seals::Seals;
use crate::slots::{RAW_UNITS, Slots};
use crate::{FarError, FarStore, FileUrl, Health, Ticket};
pub use opening::{Unusable, check};
use reading::Readings;
use ring::Disk;

const SUBJECT: &str = "the file for pages";

/// Runs of freed pages at least this long are given back to the file system at once.
const PUNCH_FROM: u64 = 64 * 1024;

/// Pages in a file.
pub struct File {
    keeper: Keeper,
    slots: Slots,
    seals: Seals,
    sealing: Sealing,
    disk: Disk,
    readings: Readings,
    /// Pages that came back other than they were stored.
    damaged: AtomicU64,
    lost: AtomicBool,
}

/// The slot that a block is.
fn slot_of(block: Block) -> u64 {
    u64::from(block.unit / RAW_UNITS)
}

/// Where in the file a slot is. There is no slot 0.
fn offset_of(slot: u64) -> u64 {
    (slot - 1) * PAGE as u64
}

impl File {
    /// Takes up the connection to the keeper of the run's tables, for a far region of `pages` pages, and makes the file.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn connect(socket: OwnedFd, url: &FileUrl, pages: u64) -> Result<Self, FarError> {
        let (keeper, _, slots) = Keeper::join(socket, pages)?;
        Self::with_tables((keeper, slots), url)
    }

    /// A file that is no program's: the process never forks, and has tables of its own.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn alone(url: &FileUrl, pages: u64) -> Result<Self, FarError> {
        Self::with_tables(Keeper::alone(pages)?, url)
    }

    fn with_tables((keeper, mut slots): (Keeper, Slots), url: &FileUrl) -> Result<Self, FarError> {
        let size = match url.size {
            Some(size) => size,
            None => opening::default_size(url)?,
        };
        let pages = (size / PAGE as u64).max(1);
        slots.bound(pages);
        let file = opening::open(url, pages * PAGE as u64)?;
        let depth = if url.ring { url.depth } else { 0 };
        Ok(Self {
            keeper,
            slots,
            seals: Seals::new(false)?,
            sealing: Sealing::new(url.seal)?,
            disk: Disk::new(file, depth),
            readings: Readings::new(url.depth),
            damaged: AtomicU64::new(0),
            lost: AtomicBool::new(false),
        })
    }

    /// Whether several reads and writes are under way at once.
    pub fn has_ring(&self) -> bool {
        self.disk.has_ring()
    }

    fn check(&self) -> Result<(), FarError> {
        if self.lost.load(Ordering::Acquire) { Err(FarError::NodeLost) } else { Ok(()) }
    }

    /// Gives long runs of blocks that nobody uses, in order, back to the file system; all are available again.
    fn punch(&self, freed: &[Block]) -> Result<(), FarError> {
        let mut result = Ok(());
        for run in freed.chunk_by(|a, b| a.unit + a.units == b.unit) {
            let len = (run.len() * PAGE) as u64;
            if len < PUNCH_FROM {
                self.slots.recycle(run);
                continue;
            }
            // Another process may find one of them before it is punched: then it is left alone.
            let run = self.slots.seize_all(run.to_vec());
            for run in run.chunk_by(|a, b| a.unit + a.units == b.unit) {
                let offset = offset_of(slot_of(run[0]));
                let len = (run.len() * PAGE) as u64;
                let punched = storage::punch_hole(self.disk.file(), offset, len, SUBJECT);
                result = result.and(punched.or_else(|error| match error.errno {
                    // The file system has no holes: the room is used again all the same.
                    libc::EOPNOTSUPP => Ok(()),
                    _ => Err(error.into()),
                }));
            }
            self.slots.give_back(&run);
        }
        result
    }
}

impl FarStore for File {
    /// What a fast solid-state drive takes: who asks wants to know how much dearer this is than a system call.
    fn wait_ns(&self) -> u64 {
        80_000
    }

    fn expect(&self, page: u64) {
        self.slots.expect(page);
    }

    fn begin_read(&self, first: u64, count: u32) -> Result<Ticket, FarError> {
        self.check()?;
        Ok(self.begin_reading(first, count))
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
        self.punch(&freed)
    }

    fn rename(&self, from: u64, to: u64, count: u64) -> Result<(), FarError> {
        for i in 0..count {
            self.slots.rename(from + i, to + i);
        }
        Ok(())
    }

    fn needs_tending(&self) -> bool {
        // What has been seen is told then.
        true
    }

    fn health(&self) -> Health {
        Health { damaged_pages: self.damaged.load(Ordering::Relaxed), ..Health::default() }
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
        self.damaged.store(0, Ordering::Relaxed);
        self.keeper.rejoin(link, &self.slots)?;
        self.disk.leave_to_parent();
        Ok(())
    }

    fn link(&self) -> RawFd {
        self.keeper.raw()
    }

    fn mark_lost(&self) {
        self.lost.store(true, Ordering::Release);
    }
}
