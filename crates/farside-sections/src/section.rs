//! A section: what its operations share.

use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use farside_far::FarError;
use farside_os::OsError;
use farside_os::memory::PAGE;
use farside_pager::NotLent;
use farside_pager::counters::Counters;
use rustc_hash::FxHashMap;
use thiserror::Error;

use crate::group::{Group, Need};
use crate::host::Host;
use crate::index::Index;
use crate::inner::{Inner, Turns};
use crate::latency::Latency;
use crate::lines::{AHEAD, Lines};
use crate::pointer::RemotePtr;
use crate::shape::{BadShape, Geometry, Shape};
use crate::transfer;

/// What a section is to be.
#[derive(Copy, Clone, Debug)]
pub struct Options {
    /// Its number, from 1 on.
    pub id: u8,
    /// How it is made.
    pub shape: Shape,
}

/// Why there cannot be a section.
#[derive(Debug, Error)]
pub enum OpenError {
    /// It makes no sense.
    #[error(transparent)]
    Shape(#[from] BadShape),
    /// The local limit leaves no room.
    #[error(
        "its lines take {} KiB of local memory, and {} KiB of it can be had; raise --local, or make sections smaller",
        .0.asked * 4, .0.left * 4
    )]
    Limit(#[from] NotLent),
    /// The kernel refuses memory.
    #[error(transparent)]
    Os(#[from] OsError),
}

/// Why an operation failed.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
pub enum SectionError {
    /// The far store did.
    #[error(transparent)]
    Far(#[from] FarError),
    /// The pointer leads nowhere.
    #[error("a remote pointer leads to offset {offset} of section {id}, which has {len} bytes")]
    Beyond {
        /// The section.
        id: u8,
        /// The pointer's offset.
        offset: u64,
        /// Offsets there are.
        len: u64,
    },
    /// There is no slot for a line.
    #[error(
        "section {0} has no room for a line: all that could leave are pinned, and no local memory can be had for more"
    )]
    Pinned(u8),
    /// What is freed is nobody's.
    #[error("offset {offset} of section {id} is freed, where nothing begins that was allocated")]
    NotAllocated {
        /// The section.
        id: u8,
        /// The pointer's offset.
        offset: u64,
    },
}

/// A cache of far memory with lines of one length.
///
/// All methods may be called by several threads at once, but for [`close`](Self::close) and
/// [`select`](Self::select). An address is good as long as its line is pinned. If only one thread uses the section, it is
/// also good until the next call here that is not about a line that was used lately: the next miss, or what fetches,
/// stores or frees lines. Sections that share memory are one in this.
pub struct Section {
    pub(crate) id: u8,
    pub(crate) geometry: Geometry,
    pub(crate) lines: Lines,
    pub(crate) index: Option<Index>,
    pub(crate) host: Box<dyn Host>,
    /// Those that it shares local memory with.
    pub(crate) group: OnceLock<Arc<Group>>,
    /// A slot that was pinned when another section of the group wanted the memory.
    pub(crate) blocker: AtomicU32,
    /// What it is a copy of.
    pub(crate) original: Option<Arc<Self>>,
    /// Its copies, by thread, and whether there ever was one.
    pub(crate) copies: RwLock<FxHashMap<usize, Arc<Self>>>,
    pub(crate) is_copied: AtomicBool,
    pub(crate) latency: Latency,
    inner: Mutex<Inner>,
    /// Grows whenever something has changed for which others may wait.
    changes: AtomicU32,
    waiting: AtomicU32,
    peak: AtomicU64,
}

impl Section {
    /// Makes an empty section.
    ///
    /// # Errors
    /// If it makes no sense, or there is no local memory for it.
    pub fn open(host: Box<dyn Host>, options: Options) -> Result<Arc<Self>, OpenError> {
        Self::open_as(host, options, None)
    }

    /// The same, or a copy.
    pub(crate) fn open_as(
        host: Box<dyn Host>,
        options: Options,
        original: Option<Arc<Self>>,
    ) -> Result<Arc<Self>, OpenError> {
        let geometry = options.shape.geometry()?;
        let pages = pages_of(&geometry);
        Self::build(host, options.id, geometry, pages, None, original)
    }

    /// Makes an empty section that shares the local memory of another one, and of all that share that already: together
    /// they have as much as the largest of them, and one has it at a time, which needed a slot last; what was written
    /// of the others is stored then, and their lines have left. As long as lines of that one are pinned, lines of others
    /// are put beside their structures (thesis 3.4).
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(
        host: Box<dyn Host>,
        options: Options,
        with: &Arc<Self>,
    ) -> Result<Arc<Self>, OpenError> {
        let geometry = options.shape.geometry()?;
        let group = Group::of(with);
        let turn = group.turn(&*with.host);
        let pages = turn.more_with(Need::of(&geometry));
        let section =
            Self::build(host, options.id, geometry, pages, Some(Arc::clone(&group)), None)?;
        turn.enter(&section);
        Ok(section)
    }

    /// Takes so many pages of local memory, and makes a section.
    fn build(
        host: Box<dyn Host>,
        id: u8,
        geometry: Geometry,
        pages: u64,
        group: Option<Arc<Group>>,
        original: Option<Arc<Self>>,
    ) -> Result<Arc<Self>, OpenError> {
        host.lend(pages)?;
        let (lines, index) = Self::reserve(&geometry).inspect_err(|_| host.take_back(pages))?;
        Counters::add(&host.counters().section_bytes, pages * PAGE as u64);
        Ok(Arc::new(Self {
            id,
            geometry,
            lines,
            index,
            host,
            inner: Mutex::new(Inner::new(&geometry, group.is_none())),
            group: group.map_or_else(OnceLock::new, OnceLock::from),
            blocker: AtomicU32::new(0),
            original,
            copies: RwLock::default(),
            is_copied: AtomicBool::new(false),
            latency: Latency::default(),
            changes: AtomicU32::new(0),
            waiting: AtomicU32::new(0),
            peak: AtomicU64::new(0),
        }))
    }

    fn reserve(geometry: &Geometry) -> Result<(Lines, Option<Index>), OsError> {
        let index = if geometry.full { Some(Index::new(geometry.slots())?) } else { None };
        Ok((Lines::new(geometry)?, index))
    }

    /// Its number.
    pub fn id(&self) -> u8 {
        self.id
    }

    /// Bytes of a line.
    pub fn line_len(&self) -> usize {
        self.geometry.line()
    }

    /// How many lines there is room for.
    pub fn slots(&self) -> u32 {
        self.geometry.slots()
    }

    /// Bytes that describe the slots.
    pub fn metadata(&self) -> u64 {
        let hands = self.lock().hands.len() as u64 * 2;
        self.lines.metadata() + hands + self.index.as_ref().map_or(0, Index::bytes)
    }

    /// Takes `size` bytes of far memory at a multiple of `align`; `None` if there are no more. Fresh memory is zeros; what was
    /// freed before has some content.
    pub fn allocate(&self, size: u64, align: u64) -> Option<RemotePtr> {
        let mut inner = self.lock();
        let offset = inner.space.allocate(&*self.host, size, align)?;
        self.peak.store(inner.space.peak(), Relaxed);
        Some(RemotePtr::new(self.id, offset))
    }

    /// Most bytes that were ever allocated at once, in whole spans.
    pub fn peak(&self) -> u64 {
        self.peak.load(Relaxed)
    }

    /// Bytes of what was allocated at a pointer.
    pub fn size(&self, ptr: RemotePtr) -> Option<u64> {
        self.lock().space.size(ptr.offset())
    }

    /// The address of what a pointer points to, whose line is here then.
    ///
    /// # Errors
    /// If the pointer leads nowhere, the line cannot come, or there is no room for it.
    pub fn address(&self, ptr: RemotePtr) -> Result<usize, SectionError> {
        if let Some(address) = self.address_here(ptr) {
            return Ok(address);
        }
        self.bring(self.line_of(ptr)?, false).map(|slot| self.address_in(slot, ptr))
    }

    /// The same if the line is here and nobody moves it. Takes no lock.
    pub fn address_here(&self, ptr: RemotePtr) -> Option<usize> {
        if ptr.id() != self.id {
            return None;
        }
        let line = u32::try_from(ptr.offset() >> self.geometry.shift).ok()?;
        let slot = self.slot_in_structure(line)?;
        if let Some(state) = self.lines.prove(slot, line) {
            self.count_proven(state);
        }
        Some(self.address_in(slot, ptr))
    }

    /// The same, and the line stays until its address is [unpinned](Self::unpin) as often as it was pinned.
    ///
    /// # Errors
    /// As [`address`](Self::address), and if it is pinned more than 512 times.
    pub fn pin(&self, ptr: RemotePtr) -> Result<usize, SectionError> {
        self.bring(self.line_of(ptr)?, true).map(|slot| self.address_in(slot, ptr))
    }

    /// Ends one [`pin`](Self::pin); false if no line is pinned at this address.
    pub fn unpin(&self, address: usize) -> bool {
        self.lines.slot_at(address).is_some_and(|slot| self.lines.unpin(slot))
    }

    /// Says that `len` bytes at an address, all of one line, are written; before they are.
    pub fn note_written(&self, address: usize, len: usize) {
        use crate::lines::DIRTY;
        let Some(slot) = self.lines.slot_at(address) else { return };
        if let Some(written) = self.lines.written {
            let place = (address - self.lines.data) & (self.geometry.line() - 1);
            let last = (place + len.max(1) - 1).min(self.geometry.line() - 1);
            let shift = self.geometry.block_shift;
            let (from, to) = (place >> shift, last >> shift);
            let blocks = (u64::MAX >> (63 - (to - from))) << from;
            written[slot as usize].fetch_or(blocks, Relaxed);
        }
        self.lines.states[slot as usize].fetch_or(DIRTY, Relaxed);
    }

    /// Address in a slot of what a pointer points to.
    fn address_in(&self, slot: u32, ptr: RemotePtr) -> usize {
        self.lines.address(slot) + (ptr.offset() as usize & (self.geometry.line() - 1))
    }

    /// The line that a pointer leads to.
    pub(crate) fn line_of(&self, ptr: RemotePtr) -> Result<u32, SectionError> {
        let (offset, len) = (ptr.offset(), self.len());
        if offset >= len || ptr.id() != self.id {
            return Err(SectionError::Beyond { id: self.id, offset, len });
        }
        Ok((offset >> self.geometry.shift) as u32)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn counters(&self) -> &Counters {
        self.host.counters()
    }

    /// A line was used for the first time since nobody knew whether it is.
    pub(crate) fn count_proven(&self, state: u16) {
        if state & AHEAD != 0 {
            Counters::add(&self.counters().section_ahead_used, 1);
        }
    }

    pub(crate) fn seen(&self) -> u32 {
        self.changes.load(Acquire)
    }

    /// Waits until something has changed since [`seen`](Self::seen).
    pub(crate) fn wait(&self, seen: u32) {
        self.waiting.fetch_add(1, SeqCst);
        self.host.wait(&self.changes, seen);
        self.waiting.fetch_sub(1, SeqCst);
    }

    /// Something has changed.
    pub(crate) fn notify(&self) {
        self.changes.fetch_add(1, SeqCst);
        if self.waiting.load(SeqCst) > 0 {
            self.host.wake(&self.changes);
        }
    }

    /// The pages that are read or written as a whole for a line, if lines have to take turns.
    pub(crate) fn turns(&self, inner: &Inner, lines: [Option<u32>; 2]) -> Turns {
        let mut turns = Turns::new();
        // A copy's are its section's.
        if self.original.is_none() && transfer::takes_turns(self.host.store(), &self.geometry) {
            for line in lines.into_iter().flatten() {
                let page = inner.space.far(self.offset(line)) / PAGE as u64;
                if !turns.contains(&page) {
                    turns.push(page);
                }
            }
        }
        turns
    }

    /// The first offset of a line.
    pub(crate) fn offset(&self, line: u32) -> u64 {
        u64::from(line) << self.geometry.shift
    }
}

/// Pages of local memory that a section takes.
pub(crate) fn pages_of(geometry: &Geometry) -> u64 {
    (u64::from(geometry.slots()) << geometry.shift).div_ceil(PAGE as u64)
}
