//! Threads of a program that write and read parts of pages at random, some of which are of the same pages, beside a model
//! of what each of them holds.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use farside_far::{FarError, FarStore, Part, PartStore, Remote};
use farside_os::memory::PAGE;

use crate::client::Outcome;
use crate::scheduler::Scheduler;

/// Pages of which each thread has some of the lines.
const SHARED: u64 = 8;

/// Pages of each thread alone.
const OWN: u64 = 4;

/// Most lines at once.
const MOST: u64 = 7;

/// What a thread knows of its lines.
pub struct PartClient {
    pub store: std::sync::Arc<Remote>,
    pub scheduler: Rc<Scheduler>,
    /// Bytes of a line.
    pub line: usize,
    /// Which of the threads it is, and how many there are.
    pub number: u64,
    pub threads: u64,
    model: RefCell<BTreeMap<u64, u64>>,
    next: Cell<u64>,
}

fn content(stamp: u64, len: usize) -> Vec<u8> {
    let byte = |at| (stamp.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (at % 57)) as u8;
    if stamp == 0 { vec![0; len] } else { (0..len).map(byte).collect() }
}

impl PartClient {
    pub fn new(
        store: std::sync::Arc<Remote>,
        scheduler: &Rc<Scheduler>,
        line: usize,
        (number, threads): (u64, u64),
    ) -> Self {
        let scheduler = Rc::clone(scheduler);
        let (model, next) = (RefCell::default(), Cell::new(number << 40 | 1));
        Self { store, scheduler, line, number, threads, model, next }
    }

    /// Does so many things; an error ends it, and is the run's unless it `is_expected`.
    pub fn run(&self, deeds: u64, outcome: &Outcome, is_expected: impl Fn(&FarError) -> bool) {
        for _ in 0..deeds {
            if let Err(error) = self.act() {
                if !is_expected(&error) {
                    *outcome.borrow_mut() = Some(error.to_string());
                }
                return;
            }
        }
    }

    fn act(&self) -> Result<(), FarError> {
        match self.scheduler.random.below(20) {
            0..8 => self.write(),
            8..17 => self.read(),
            17 => self.write_page(),
            18 => self.read_page(),
            _ => {
                let page = self.own_page();
                self.store.discard(page, 1)?;
                self.lines_of(page).for_each(|at| _ = self.model.borrow_mut().remove(&at));
                Ok(())
            }
        }
    }

    fn by_part(&self) -> &dyn PartStore {
        self.store.parts().expect("it moves parts")
    }

    fn own_page(&self) -> u64 {
        SHARED + self.number * OWN + self.scheduler.random.below(OWN)
    }

    fn lines_of(&self, page: u64) -> impl Iterator<Item = u64> + use<> {
        let start = page * PAGE as u64;
        (start..start + PAGE as u64).step_by(self.line)
    }

    /// Where one of the thread's lines begins.
    fn some_line(&self) -> u64 {
        let random = &self.scheduler.random;
        let per_page = (PAGE / self.line) as u64;
        if random.permille(300) {
            return self.own_page() * PAGE as u64 + random.below(per_page) * self.line as u64;
        }
        let turn = random.below(SHARED * per_page / self.threads);
        (turn * self.threads + self.number) * self.line as u64
    }

    /// Some of the thread's lines, one behind the other in a buffer.
    fn some_lines(&self) -> Vec<Part> {
        let mut starts: Vec<u64> =
            (0..1 + self.scheduler.random.below(MOST)).map(|_| self.some_line()).collect();
        starts.sort_unstable();
        starts.dedup();
        let places = (0..).step_by(self.line);
        let part = |(start, place)| Part { start, len: self.line as u32, place };
        starts.into_iter().zip(places).map(part).collect()
    }

    fn stamp(&self) -> u64 {
        self.next.replace(self.next.get() + 1)
    }

    fn write(&self) -> Result<(), FarError> {
        let parts = self.some_lines();
        let stamps: Vec<u64> = parts.iter().map(|_| self.stamp()).collect();
        let from: Vec<u8> = stamps.iter().flat_map(|stamp| content(*stamp, self.line)).collect();
        self.by_part().write_parts(&parts, &from, self.line)?;
        self.model.borrow_mut().extend(parts.iter().map(|part| part.start).zip(stamps));
        Ok(())
    }

    fn read(&self) -> Result<(), FarError> {
        let mut parts = self.some_lines();
        let cut = self.scheduler.random.permille(200);
        if cut {
            // Not all of a line.
            parts.iter_mut().for_each(|part| (part.start, part.len) = (part.start + 3, 10));
        }
        let ticket = self.by_part().begin_read_parts(&parts)?;
        while self.scheduler.random.permille(300) {
            self.scheduler.pause();
            let _ = self.store.is_ready(&ticket);
        }
        let mut into = vec![0xee; MOST as usize * self.line];
        self.by_part().finish_read_parts(ticket, &parts, &mut into)?;
        for part in parts {
            let start = part.start - if cut { 3 } else { 0 };
            let expected = self.expected(start);
            let expected = if cut { &expected[3..13] } else { &expected[..] };
            assert!(into[part.range()] == *expected, "{part:?} is not what was stored");
        }
        Ok(())
    }

    fn expected(&self, start: u64) -> Vec<u8> {
        content(self.model.borrow().get(&start).copied().unwrap_or(0), self.line)
    }

    fn write_page(&self) -> Result<(), FarError> {
        let page = self.own_page();
        let starts: Vec<u64> = self.lines_of(page).collect();
        let stamps: Vec<u64> = starts.iter().map(|_| self.stamp()).collect();
        let bytes: Vec<u8> = stamps.iter().flat_map(|stamp| content(*stamp, self.line)).collect();
        self.store.write(page, &bytes)?;
        self.model.borrow_mut().extend(starts.into_iter().zip(stamps));
        Ok(())
    }

    fn read_page(&self) -> Result<(), FarError> {
        let page = self.own_page();
        if !self.lines_of(page).any(|start| self.model.borrow().contains_key(&start)) {
            return Ok(());
        }
        let ticket = self.store.begin_read(page, 1)?;
        let mut into = vec![0xee; PAGE];
        self.store.finish_read(ticket, &mut into)?;
        for (start, got) in self.lines_of(page).zip(into.chunks_exact(self.line)) {
            assert!(got == self.expected(start), "{start} of page {page} is not what was stored");
        }
        Ok(())
    }
}
