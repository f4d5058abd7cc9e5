//! A process around sections: a far store in memory, and so much local memory.

use std::collections::BTreeMap;
use std::os::fd::{OwnedFd, RawFd};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex};

use farside_far::{FarError, FarStore, Part, PartStore, Ticket};
use farside_pager::NotLent;
use farside_pager::counters::{Counters, Snapshot};
use farside_sections::{Host, Options, RemotePtr, Section, Shape};

pub const PAGE: usize = 4096;

/// A store whose reads are ready at once, unless they take some simulated time.
pub struct MemoryStore {
    pages: Mutex<BTreeMap<u64, Vec<u8>>>,
    /// Whether parts of pages can be moved.
    by_part: bool,
    /// Whether nothing can be written.
    pub is_full: AtomicBool,
    /// What time it is, and how long a read takes, in nanoseconds.
    pub now: AtomicU64,
    pub latency: AtomicU64,
}

impl MemoryStore {
    fn new(by_part: bool) -> Self {
        Self {
            pages: Mutex::default(),
            by_part,
            is_full: AtomicBool::new(false),
            now: AtomicU64::new(0),
            latency: AtomicU64::new(0),
        }
    }

    fn begin(&self, first: u64, count: u32) -> Ticket {
        let ready_at = self.now.load(Relaxed) + self.latency.load(Relaxed);
        Ticket { first, count, ready_at, call: 0 }
    }

    fn accept(&self) -> Result<(), FarError> {
        if self.is_full.load(Relaxed) { Err(FarError::Full) } else { Ok(()) }
    }

    pub fn held_pages(&self) -> usize {
        self.pages.lock().unwrap().len()
    }
}

impl FarStore for MemoryStore {
    fn wait_ns(&self) -> u64 {
        1
    }

    fn begin_read(&self, first: u64, count: u32) -> Result<Ticket, FarError> {
        Ok(self.begin(first, count))
    }

    fn is_ready(&self, ticket: &Ticket) -> bool {
        self.now.load(Relaxed) >= ticket.ready_at
    }

    fn finish_read(&self, ticket: Ticket, into: &mut [u8]) -> Result<(), FarError> {
        assert_eq!(into.len(), ticket.count as usize * PAGE);
        self.now.fetch_max(ticket.ready_at, Relaxed);
        let pages = self.pages.lock().unwrap();
        for (page, into) in (ticket.first..).zip(into.chunks_mut(PAGE)) {
            into.copy_from_slice(pages.get(&page).ok_or(FarError::Missing(page))?);
        }
        Ok(())
    }

    fn write(&self, first: u64, content: &[u8]) -> Result<(), FarError> {
        assert!(content.len().is_multiple_of(PAGE));
        self.accept()?;
        let mut pages = self.pages.lock().unwrap();
        for (page, content) in (first..).zip(content.chunks(PAGE)) {
            pages.insert(page, content.to_vec());
        }
        Ok(())
    }

    fn discard(&self, first: u64, count: u64) -> Result<(), FarError> {
        self.pages.lock().unwrap().retain(|page, _| !(first..first + count).contains(page));
        Ok(())
    }

    fn rename(&self, _from: u64, _to: u64, _count: u64) -> Result<(), FarError> {
        unreachable!("sections rename nothing")
    }

    fn parts(&self) -> Option<&dyn PartStore> {
        self.by_part.then_some(self)
    }

    fn held(&self) -> u64 {
        self.held_pages() as u64
    }

    fn before_fork(&self) -> Result<(), FarError> {
        Ok(())
    }

    fn after_fork_in_parent(&self, _forked: bool) {}

    fn after_fork_in_child(&self, _link: OwnedFd) -> Result<(), FarError> {
        Ok(())
    }

    fn link(&self) -> RawFd {
        -1
    }

    fn mark_lost(&self) {}
}

impl PartStore for MemoryStore {
    fn begin_read_parts(&self, parts: &[Part]) -> Result<Ticket, FarError> {
        assert!(!parts.is_empty());
        Ok(self.begin(0, 0))
    }

    fn finish_read_parts(
        &self,
        ticket: Ticket,
        parts: &[Part],
        into: &mut [u8],
    ) -> Result<(), FarError> {
        self.now.fetch_max(ticket.ready_at, Relaxed);
        let pages = self.pages.lock().unwrap();
        for part in parts.iter().flat_map(|part| part.by_page()) {
            let at = part.start as usize % PAGE;
            match pages.get(&(part.start / PAGE as u64)) {
                Some(page) => into[part.range()].copy_from_slice(&page[at..at + part.len as usize]),
                None => into[part.range()].fill(0),
            }
        }
        Ok(())
    }

    fn write_parts(&self, parts: &[Part], from: &[u8], _line: usize) -> Result<(), FarError> {
        self.accept()?;
        let mut pages = self.pages.lock().unwrap();
        for part in parts.iter().flat_map(|part| part.by_page()) {
            let at = part.start as usize % PAGE;
            let page = pages.entry(part.start / PAGE as u64).or_insert_with(|| vec![0; PAGE]);
            page[at..at + part.len as usize].copy_from_slice(&from[part.range()]);
        }
        Ok(())
    }
}

/// A process with one thread.
pub struct Process {
    pub store: MemoryStore,
    pub counters: Counters,
    /// Pages of local memory that are left.
    pub left: AtomicU64,
    next: AtomicU64,
    pub numbers: AtomicU64,
    pub footprint: AtomicU64,
}

/// What sections hold of it.
pub struct Lender(pub Arc<Process>);

impl Process {
    pub fn new(by_part: bool, pages: u64) -> Arc<Self> {
        Arc::new(Self {
            store: MemoryStore::new(by_part),
            counters: Counters::new(),
            left: AtomicU64::new(pages),
            next: AtomicU64::new(7),
            numbers: AtomicU64::new(0),
            footprint: AtomicU64::new(0),
        })
    }

    pub fn open(self: &Arc<Self>, shape: Shape) -> Arc<Section> {
        let host = Box::new(Lender(Arc::clone(self)));
        Section::open(host, Options { id: 1, shape }).expect("there is room")
    }

    /// Opens a section that shares the memory of another one.
    pub fn open_with(self: &Arc<Self>, id: u8, shape: Shape, with: &Arc<Section>) -> Arc<Section> {
        let host = Box::new(Lender(Arc::clone(self)));
        Section::open_with(host, Options { id, shape }, with).expect("there is room")
    }

    pub fn counted(&self) -> Snapshot {
        self.counters.snapshot()
    }
}

impl Host for Lender {
    fn store(&self) -> &dyn FarStore {
        &self.0.store
    }

    fn counters(&self) -> &Counters {
        &self.0.counters
    }

    fn lend(&self, pages: u64) -> Result<(), NotLent> {
        let left = self.0.left.load(Relaxed);
        if pages > left {
            return Err(NotLent { asked: pages, left });
        }
        self.0.left.store(left - pages, Relaxed);
        Ok(())
    }

    fn take_back(&self, pages: u64) {
        self.0.left.fetch_add(pages, Relaxed);
    }

    fn take_numbers(&self, count: u64) -> Option<u64> {
        self.0.numbers.fetch_add(count, Relaxed);
        // What follows in the section does not follow in the store.
        Some(self.0.next.fetch_add(count + 3, Relaxed))
    }

    fn give_numbers(&self, _first: u64, count: u64) {
        self.0.numbers.fetch_sub(count, Relaxed);
    }

    fn note_footprint(&self, pages: i64) {
        self.0.footprint.fetch_add(pages as u64, Relaxed);
    }

    fn now_ns(&self) -> u64 {
        self.0.store.now.load(Relaxed)
    }

    fn wait(&self, _word: &AtomicU32, _seen: u32) {
        panic!("there is nobody to wait for");
    }

    fn wake(&self, _word: &AtomicU32) {}
}

/// Copies bytes from or to a section, line by line.
pub fn copy(section: &Section, ptr: RemotePtr, len: usize, mut at: impl FnMut(usize, &mut [u8])) {
    let mut done = 0;
    while done < len {
        let here = RemotePtr(ptr.0 + done as u64);
        let line = section.line_len();
        let some = (line - here.offset() as usize % line).min(len - done);
        let address = section.address(here).expect("it comes");
        // SAFETY: so many bytes of the line are here, and nobody else uses the section.
        at(done, unsafe { std::slice::from_raw_parts_mut(address as *mut u8, some) });
        done += some;
    }
}

pub fn read(section: &Section, ptr: RemotePtr, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    copy(section, ptr, len, |at, here| bytes[at..at + here.len()].copy_from_slice(here));
    bytes
}

pub fn write(section: &Section, ptr: RemotePtr, bytes: &[u8]) {
    copy(section, ptr, bytes.len(), |at, here| {
        section.note_written(here.as_ptr() as usize, here.len());
        here.copy_from_slice(&bytes[at..at + here.len()]);
    });
}
