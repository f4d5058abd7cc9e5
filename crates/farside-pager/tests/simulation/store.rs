//! A far store in simulated time that is strict about its contract.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use farside_far::{FarError, FarStore, Mover, Ticket};

use crate::PAGE;
use crate::config::Config;
use crate::mover::Orders;
use crate::scheduler::{Scheduler, Wait};
use crate::space::SimSpace;

type Content = Box<[u8]>;

/// The node and the way to it.
pub struct SimStore {
    pub scheduler: Arc<Scheduler>,
    pub space: Arc<SimSpace>,
    config: Config,
    /// Whether it moves pages by itself.
    moves: bool,
    pub orders: Orders,
    pub pages: RefCell<BTreeMap<u64, Content>>,
    /// Pages that a call is at work on.
    at_work: RefCell<BTreeSet<u64>>,
    /// Reads begun and neither finished nor overtaken by another call, by their moment.
    open: RefCell<BTreeMap<u64, Ticket>>,
    calls: Cell<u64>,
    /// Reads and writes refused: the pager must have said so.
    pub refused: Cell<u64>,
}

impl SimStore {
    pub fn new(
        scheduler: Arc<Scheduler>,
        space: Arc<SimSpace>,
        config: Config,
        moves: bool,
    ) -> Self {
        Self {
            scheduler,
            space,
            config,
            moves,
            orders: Orders::default(),
            pages: RefCell::default(),
            at_work: RefCell::default(),
            open: RefCell::default(),
            calls: Cell::new(0),
            refused: Cell::new(0),
        }
    }

    /// The content of a stored page, for comparison.
    pub fn content(&self, page: u64) -> Option<Content> {
        self.pages.borrow().get(&page).cloned()
    }

    /// Whether it fails by now.
    pub fn failed(&self) -> bool {
        self.config.fails_at.is_some_and(|call| self.calls.get() >= call)
    }

    /// Whether the node is gone.
    pub fn lost(&self) -> bool {
        self.failed() && !self.config.full
    }

    pub fn enter(&self, what: &'static str, first: u64, count: u64) {
        self.scheduler.pause_in(what);
        self.scheduler.note(what, first, count);
        self.calls.set(self.calls.get() + 1);
    }

    pub fn check_link(&self) -> Result<(), FarError> {
        if self.lost() {
            return Err(FarError::NodeLost);
        }
        Ok(())
    }

    pub fn refuse(&self, error: FarError) -> FarError {
        self.refused.set(self.refused.get() + 1);
        error
    }

    /// Claims pages for the duration of a call.
    pub fn work(&self, what: &str, first: u64, count: u64) {
        for page in first..first + count {
            let alone = self.at_work.borrow_mut().insert(page);
            assert!(alone, "{what} of page {page} while another call is at it");
        }
    }

    pub fn rest(&self, first: u64, count: u64) {
        for page in first..first + count {
            self.at_work.borrow_mut().remove(&page);
        }
    }

    /// A read that is on its way from now on.
    pub fn open_read(&self, first: u64, count: u32) -> Ticket {
        let wait =
            if self.config.instant { 0 } else { self.scheduler.below(self.config.latency_ns) };
        // Reads that were given up are never finished.
        self.overtake(first, u64::from(count));
        let mut ready_at = self.scheduler.now() + wait;
        while self.open.borrow().contains_key(&ready_at) {
            ready_at += 1;
        }
        let ticket = Ticket { first, count, ready_at, call: 0 };
        self.open.borrow_mut().insert(ticket.ready_at, ticket);
        ticket
    }

    /// Reads of these pages that are on their way may not be finished any more.
    pub fn overtake(&self, first: u64, count: u64) {
        let apart = |t: &Ticket| t.first + u64::from(t.count) <= first || first + count <= t.first;
        self.open.borrow_mut().retain(|_, ticket| apart(ticket));
    }
}

/// What the pager holds of the store.
pub struct Link(pub Arc<SimStore>);

// SAFETY: everything runs on one thread; the bounds come from traits made for threads.
unsafe impl Send for SimStore {}
// SAFETY: as above.
unsafe impl Sync for SimStore {}

impl FarStore for Link {
    fn wait_ns(&self) -> u64 {
        if self.0.config.instant { 0 } else { 30_000 }
    }

    fn begin_read(&self, first: u64, count: u32) -> Result<Ticket, FarError> {
        let store = &self.0;
        store.enter("begin_read", first, u64::from(count));
        store.check_link().map_err(|error| store.refuse(error))?;
        for page in first..first + u64::from(count) {
            assert!(store.pages.borrow().contains_key(&page), "page {page} was never stored");
            assert!(!store.at_work.borrow().contains(&page), "page {page} is being worked on");
        }
        Ok(store.open_read(first, count))
    }

    fn is_ready(&self, ticket: &Ticket) -> bool {
        self.0.scheduler.now() >= ticket.ready_at
    }

    fn finish_read(&self, ticket: Ticket, into: &mut [u8]) -> Result<(), FarError> {
        let store = &self.0;
        let (first, count) = (ticket.first, u64::from(ticket.count));
        store.enter("finish_read", first, count);
        while store.scheduler.now() < ticket.ready_at {
            store.scheduler.wait(Wait::Until(ticket.ready_at));
        }
        store.check_link().map_err(|error| store.refuse(error))?;
        let open = store.open.borrow_mut().remove(&ticket.ready_at);
        assert_eq!(open, Some(ticket), "the read was overtaken or never begun");
        assert_eq!(into.len(), count as usize * PAGE);
        store.space.check_buffer(into);
        store.work("read", first, count);
        for (page, into) in (first..).zip(into.chunks_exact_mut(PAGE)) {
            if store.scheduler.permille(100) {
                store.scheduler.pause_in("finish_read");
            }
            match store.pages.borrow().get(&page) {
                Some(content) => into.copy_from_slice(content),
                None => panic!("page {page} was forgotten while it was read"),
            }
        }
        store.rest(first, count);
        Ok(())
    }

    fn write(&self, first: u64, pages: &[u8]) -> Result<(), FarError> {
        let store = &self.0;
        let count = (pages.len() / PAGE) as u64;
        store.enter("write", first, count);
        store.check_link().map_err(|error| store.refuse(error))?;
        if store.failed() {
            return Err(store.refuse(FarError::Full));
        }
        store.space.check_buffer(pages);
        store.work("write", first, count);
        store.overtake(first, count);
        let before = pages.to_vec();
        store.scheduler.pause_in("write");
        assert!(before == pages, "pages from {first} on changed while they were written back");
        for (page, content) in (first..).zip(pages.chunks_exact(PAGE)) {
            store.pages.borrow_mut().insert(page, content.into());
        }
        store.rest(first, count);
        store.scheduler.pause_in("write");
        Ok(())
    }

    fn discard(&self, first: u64, count: u64) -> Result<(), FarError> {
        let store = &self.0;
        store.enter("store discard", first, count);
        store.check_link()?;
        store.work("discard", first, count);
        store.overtake(first, count);
        store.scheduler.pause_in("store discard");
        for page in first..first + count {
            store.pages.borrow_mut().remove(&page);
        }
        store.rest(first, count);
        Ok(())
    }

    fn rename(&self, from: u64, to: u64, count: u64) -> Result<(), FarError> {
        let store = &self.0;
        store.enter("rename", from, to);
        store.check_link()?;
        store.work("rename", from, count);
        store.work("rename", to, count);
        store.overtake(from, count);
        store.scheduler.pause_in("rename");
        for i in 0..count {
            let stored = store.pages.borrow().contains_key(&(to + i));
            assert!(!stored, "page {} is renamed to {}, which is stored", from + i, to + i);
            let content = store.pages.borrow_mut().remove(&(from + i));
            if let Some(content) = content {
                store.pages.borrow_mut().insert(to + i, content);
            }
        }
        store.rest(from, count);
        store.rest(to, count);
        Ok(())
    }

    fn mover(&self) -> Option<&dyn Mover> {
        self.0.moves.then_some(self)
    }

    fn held(&self) -> u64 {
        self.0.pages.borrow().len() as u64
    }

    fn before_fork(&self) -> Result<(), FarError> {
        Ok(())
    }

    fn after_fork_in_parent(&self, _forked: bool) {}

    fn after_fork_in_child(&self, _link: std::os::fd::OwnedFd) -> Result<(), FarError> {
        Ok(())
    }

    fn link(&self) -> std::os::fd::RawFd {
        -1
    }

    fn mark_lost(&self) {}
}
