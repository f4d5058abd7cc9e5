//! A far store in simulated time that is strict about its contract, and refuses now and then.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::os::fd::{OwnedFd, RawFd};
use std::sync::Arc;

use farside_far::{FarError, FarStore, Part, PartStore, Ticket};

use crate::PAGE;
use crate::scheduler::Scheduler;

/// Bytes from a first one to before an end.
type Range = (u64, u64);

/// What a store can move alone.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Moves {
    Pages,
    /// Blocks, like nodes across a network: what is moved begins and ends where they do.
    Blocks,
    Bytes,
}

pub struct SimStore {
    scheduler: Arc<Scheduler>,
    moves: Moves,
    /// Of 1000 calls so many fail.
    fails: Cell<u64>,
    latency: u64,
    pages: RefCell<BTreeMap<u64, Vec<u8>>>,
    /// What calls are at work on: bytes, or whole pages if only these can be moved.
    at_work: RefCell<Vec<Range>>,
    /// Reads that were begun: what was asked for.
    open: RefCell<BTreeMap<u32, Vec<Range>>>,
    calls: Cell<u32>,
}

// SAFETY: everything runs on one thread; the bounds come from traits made for threads.
unsafe impl Send for SimStore {}
// SAFETY: as above.
unsafe impl Sync for SimStore {}

fn apart(a: Range, b: Range) -> bool {
    a.1 <= b.0 || b.1 <= a.0
}

fn ranges(parts: &[Part]) -> Vec<Range> {
    parts.iter().map(|part| (part.start, part.start + u64::from(part.len))).collect()
}

impl SimStore {
    pub fn new(scheduler: Arc<Scheduler>, moves: Moves, fails: u64, latency: u64) -> Self {
        Self {
            scheduler,
            moves,
            fails: Cell::new(fails),
            latency,
            pages: RefCell::default(),
            at_work: RefCell::default(),
            open: RefCell::default(),
            calls: Cell::new(0),
        }
    }

    /// From now on nothing fails.
    pub fn mend(&self) {
        self.fails.set(0);
    }

    pub fn held_pages(&self) -> usize {
        self.pages.borrow().len()
    }

    /// The number that is stored at a byte; 0 where nothing is.
    pub fn number(&self, at: u64) -> u64 {
        let pages = self.pages.borrow();
        let Some(page) = pages.get(&(at / PAGE as u64)) else { return 0 };
        let at = at as usize % PAGE;
        u64::from_le_bytes(page[at..at + 8].try_into().expect("as many"))
    }

    /// Fails now and then, before anything is done.
    fn enter(&self, what: &'static str, at: u64) -> Result<(), FarError> {
        self.scheduler.pause();
        self.scheduler.note(what, at / 64, at % 64);
        if self.fails.get() > 0 && self.scheduler.permille(self.fails.get()) {
            self.scheduler.note("fails", 0, 0);
            return Err(FarError::Full);
        }
        Ok(())
    }

    /// Does something with ranges that nobody else may touch meanwhile.
    fn work<R>(&self, what: &str, own: &[Range], act: impl FnOnce() -> R) -> R {
        for range in own {
            let free = self.at_work.borrow().iter().all(|other| apart(*range, *other));
            assert!(free, "{what} of {range:?} while another call is at it");
            self.at_work.borrow_mut().push(*range);
        }
        self.scheduler.pause();
        let result = act();
        self.scheduler.pause();
        self.at_work.borrow_mut().retain(|range| !own.contains(range));
        result
    }

    fn begin(&self, ranges: Vec<Range>) -> Ticket {
        self.calls.set(self.calls.get() + 1);
        let at_work = self.at_work.borrow();
        for range in &ranges {
            assert!(at_work.iter().all(|other| apart(*range, *other)), "{range:?} is worked on");
        }
        let call = self.calls.get();
        let ready_at = self.scheduler.now() + self.scheduler.below(self.latency);
        let first = ranges.first().map_or(0, |range| range.0 / PAGE as u64);
        let count = ranges.first().map_or(0, |range| (range.1 - range.0) / PAGE as u64) as u32;
        self.open.borrow_mut().insert(call, ranges);
        Ticket { first, count, ready_at, call }
    }

    fn finish(&self, ticket: &Ticket) -> Vec<Range> {
        while self.scheduler.now() < ticket.ready_at {
            self.scheduler.pause();
        }
        let asked = self.open.borrow_mut().remove(&ticket.call);
        asked.expect("a read that was overtaken by a write, or finished before")
    }

    /// Reads of what is written may not be finished any more.
    fn overtake(&self, written: &[Range]) {
        let all_apart = |asked: &mut Vec<Range>| {
            asked.iter().all(|range| written.iter().all(|other| apart(*range, *other)))
        };
        self.open.borrow_mut().retain(|_, asked| all_apart(asked));
    }
}

/// What a section holds of the store.
impl FarStore for SimStore {
    fn wait_ns(&self) -> u64 {
        1000
    }

    fn begin_read(&self, first: u64, count: u32) -> Result<Ticket, FarError> {
        self.enter("begin_read", first * PAGE as u64)?;
        let range = (first * PAGE as u64, (first + u64::from(count)) * PAGE as u64);
        for page in first..first + u64::from(count) {
            assert!(self.pages.borrow().contains_key(&page), "page {page} was never stored");
        }
        Ok(self.begin(vec![range]))
    }

    fn is_ready(&self, ticket: &Ticket) -> bool {
        self.scheduler.now() >= ticket.ready_at
    }

    fn finish_read(&self, ticket: Ticket, into: &mut [u8]) -> Result<(), FarError> {
        self.enter("finish_read", ticket.first * PAGE as u64)?;
        let asked = self.finish(&ticket);
        self.work("finish_read", &asked, || {
            for (page, into) in (ticket.first..).zip(into.chunks_mut(PAGE)) {
                into.copy_from_slice(&self.pages.borrow()[&page]);
            }
        });
        Ok(())
    }

    fn write(&self, first: u64, content: &[u8]) -> Result<(), FarError> {
        self.enter("write", first * PAGE as u64)?;
        let start = first * PAGE as u64;
        let own = [(start, start + content.len() as u64)];
        self.overtake(&own);
        self.work("write", &own, || {
            for (page, content) in (first..).zip(content.chunks(PAGE)) {
                self.pages.borrow_mut().insert(page, content.to_vec());
            }
        });
        Ok(())
    }

    fn discard(&self, first: u64, count: u64) -> Result<(), FarError> {
        self.scheduler.note("discard", first, count);
        let own = [(first * PAGE as u64, (first + count) * PAGE as u64)];
        self.overtake(&own);
        self.work("discard", &own, || {
            self.pages.borrow_mut().retain(|page, _| !(first..first + count).contains(page));
        });
        Ok(())
    }

    fn rename(&self, _from: u64, _to: u64, _count: u64) -> Result<(), FarError> {
        unreachable!("sections rename nothing")
    }

    fn parts(&self) -> Option<&dyn PartStore> {
        (self.moves != Moves::Pages).then_some(self)
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

impl SimStore {
    /// Insists that parts of data that is cached in lines of that length are moved as they may be.
    fn insist(&self, parts: &[Part], line: usize) {
        let grain = self.grain(line) as u64;
        let fits = |part: &Part| (part.start | u64::from(part.len)).is_multiple_of(grain);
        assert!(parts.iter().all(fits), "{parts:?} in blocks of {grain} bytes");
    }
}

impl PartStore for SimStore {
    fn grain(&self, line: usize) -> usize {
        if self.moves == Moves::Blocks { line.clamp(64, 1024) } else { 1 }
    }

    fn begin_read_parts(&self, parts: &[Part]) -> Result<Ticket, FarError> {
        self.enter("begin_parts", parts[0].start)?;
        // The length of the lines is not known here, and the shortest blocks are in all others.
        self.insist(parts, 64);
        Ok(self.begin(ranges(parts)))
    }

    fn finish_read_parts(
        &self,
        ticket: Ticket,
        parts: &[Part],
        into: &mut [u8],
    ) -> Result<(), FarError> {
        self.enter("finish_parts", parts[0].start)?;
        let asked = self.finish(&ticket);
        assert_eq!(asked, ranges(parts));
        self.work("finish_parts", &asked, || {
            let pages = self.pages.borrow();
            for part in parts.iter().flat_map(|part| part.by_page()) {
                let at = part.start as usize % PAGE;
                match pages.get(&(part.start / PAGE as u64)) {
                    Some(page) => {
                        into[part.range()].copy_from_slice(&page[at..at + part.len as usize]);
                    }
                    None => into[part.range()].fill(0),
                }
            }
        });
        Ok(())
    }

    fn write_parts(&self, parts: &[Part], from: &[u8], line: usize) -> Result<(), FarError> {
        self.enter("write_parts", parts.first().map_or(0, |part| part.start))?;
        self.insist(parts, line);
        let own = ranges(parts);
        self.overtake(&own);
        self.work("write_parts", &own, || {
            let mut pages = self.pages.borrow_mut();
            for part in parts.iter().flat_map(|part| part.by_page()) {
                let at = part.start as usize % PAGE;
                let page = pages.entry(part.start / PAGE as u64).or_insert_with(|| vec![0; PAGE]);
                page[at..at + part.len as usize].copy_from_slice(&from[part.range()]);
            }
        });
        Ok(())
    }
}
