//! Threads of a program that write, read and discard pages at random, beside a model of what each page holds.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use farside_far::{FarError, FarStore};
use farside_os::memory::PAGE;

use crate::scheduler::Scheduler;

/// Pages of each thread.
const PAGES: u64 = 150;

/// Why a run is wrong, if it is.
pub type Outcome = Rc<RefCell<Option<String>>>;

/// What a client thread knows of its pages.
pub struct Client {
    store: Arc<dyn FarStore>,
    scheduler: Rc<Scheduler>,
    first: u64,
    model: RefCell<HashMap<u64, u64>>,
    next: Cell<u64>,
}

fn content(stamp: u64) -> [u8; PAGE] {
    std::array::from_fn(|at| (stamp.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (at % 57)) as u8)
}

impl Client {
    /// The `number`th thread.
    pub fn new(store: Arc<dyn FarStore>, scheduler: &Rc<Scheduler>, number: u64) -> Self {
        Self {
            store,
            scheduler: Rc::clone(scheduler),
            first: number * PAGES,
            model: RefCell::default(),
            next: Cell::new(number << 40 | 1),
        }
    }

    /// Does so many things, each at most `pace` nanoseconds after the one before; an error ends it, and is the run's unless it `is_expected`.
    pub fn run(
        &self,
        (deeds, pace): (u64, u64),
        outcome: &Outcome,
        is_expected: impl Fn(&FarError) -> bool,
    ) {
        for _ in 0..deeds {
            if pace > 0 {
                self.scheduler.wait(self.scheduler.now() + self.scheduler.random.below(pace), None);
            }
            match self.act() {
                Ok(()) => {}
                Err(error) => {
                    if !is_expected(&error) {
                        *outcome.borrow_mut() = Some(error.to_string());
                    }
                    return;
                }
            }
        }
    }

    /// Does something at random; the error is one that the store gave.
    fn act(&self) -> Result<(), FarError> {
        let random = &self.scheduler.random;
        let at = self.first + random.below(PAGES);
        let most = (self.first + PAGES - at).min(1 + random.below(90));
        match random.below(10) {
            0..4 => self.write(at, most),
            4 => {
                self.store.discard(at, most)?;
                (at..at + most).for_each(|page| _ = self.model.borrow_mut().remove(&page));
                Ok(())
            }
            _ => self.read(at, most),
        }
    }

    fn write(&self, at: u64, count: u64) -> Result<(), FarError> {
        let stamps: Vec<u64> = (0..count).map(|i| self.next.get() + i).collect();
        self.next.set(self.next.get() + count);
        let pages: Vec<u8> = stamps.iter().flat_map(|stamp| content(*stamp)).collect();
        self.store.write(at, &pages)?;
        self.model.borrow_mut().extend((at..).zip(stamps));
        Ok(())
    }

    fn read(&self, at: u64, most: u64) -> Result<(), FarError> {
        let known = |page: &u64| self.model.borrow().contains_key(page);
        let count = (at..at + most).take_while(known).count();
        if count == 0 {
            return Ok(());
        }
        let ticket = self.store.begin_read(at, count as u32)?;
        if self.scheduler.random.permille(300) {
            self.scheduler.pause();
        }
        let mut into = vec![0; count * PAGE];
        self.store.finish_read(ticket, &mut into)?;
        for (page, got) in (at..).zip(into.chunks_exact(PAGE)) {
            let stamp = self.model.borrow()[&page];
            assert!(got == content(stamp), "page {page} is not what was stored");
        }
        Ok(())
    }
}
