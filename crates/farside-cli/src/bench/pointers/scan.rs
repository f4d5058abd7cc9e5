//! What it takes to look at a page that has come.

use std::collections::VecDeque;
use std::time::Instant;

use farside_policy::prefetch::{
    Conservative, FaultKind, Fetches, Memory, Place, Pointer, PointerOptions, Walk,
};

use super::Bench;
use super::chance::{draw, shuffled};
use crate::bench::row::{Goal, Row, median};

/// What the paper's prefetcher took for a page, in microseconds.
const PAPER: f64 = 7.0;

/// What is timed.
const WHAT: &str = "scan cost per fetched page (policy alone: learning, looking, following)";

/// What ours may take.
const MOST: f64 = 0.15;

const PAGE: u64 = 4096;
const WORDS: usize = 512;

/// Where the pages lie.
const BASE: u64 = 1 << 40;

/// So few that they stay in the processor's cache, as pages do that have just come.
const PAGES: u64 = 256;

/// Pages that are here at once.
const ROOM: usize = 64;

/// Places that the program comes to in one round.
const STEPS: usize = 100_000;

/// What lies in the pages.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Content {
    Pointers,
    Numbers,
    List,
}

impl Bench<'_> {
    /// What it takes to look at pages of several kinds.
    pub(super) fn scan(&mut self) {
        for (content, text) in [
            (Content::Pointers, "pages full of pointers, of which the program follows any"),
            (Content::Numbers, "pages of numbers"),
            (Content::List, "page-sized nodes of a random list"),
        ] {
            self.progress.say(format!("looking at {text}"));
            let rounds = (0..self.shared.repetitions).map(|round| took(content, round.into()));
            let rounds: Vec<f64> = rounds.collect();
            self.rows.push(Row {
                work: format!("{WHAT}, {text}; paper: 7 us"),
                ours: median(&rounds) / 1e3,
                partner: Some(PAPER),
                unit: "us",
                goal: Some(Goal::Under(MOST)),
            });
        }
    }
}

/// Nanoseconds for each page that came, when a program goes through pages with such content.
fn took(content: Content, seed: u64) -> f64 {
    let (mut sim, path) = Sim::new(content, seed);
    let identify = Box::new(Conservative { first: BASE, len: PAGES * PAGE });
    let mut pointer = Pointer::new(PointerOptions::default(), identify);
    let mut todo = VecDeque::new();
    let begin = Instant::now();
    for address in path {
        sim.touch(&mut pointer, address, &mut todo);
    }
    begin.elapsed().as_nanos() as f64 / sim.came as f64
}

/// Pages of which those are here that came last.
struct Sim {
    words: Vec<u64>,
    /// Of each page whether it is here, and whether it has to be told when it is used.
    is_here: [bool; PAGES as usize],
    is_watched: [bool; PAGES as usize],
    here: VecDeque<u64>,
    came: u64,
}

impl Sim {
    /// Pages, and the places in them that a program comes to.
    fn new(content: Content, seed: u64) -> (Self, Vec<u64>) {
        let mut state = seed;
        let mut words: Vec<u64> = (0..PAGES as usize * WORDS)
            .map(|_| match content {
                Content::Pointers => BASE + draw(&mut state) % (PAGES * PAGE) / 8 * 8,
                // No number looks like a pointer.
                _ => draw(&mut state) | 1 << 63,
            })
            .collect();
        let order = shuffled(PAGES as usize, &mut state);
        // As in the paper, the pointer to the next node is at the end of each.
        const TAIL: u64 = PAGE - 16;
        let path = match content {
            Content::Pointers => {
                let mut at = BASE;
                let mut next = || {
                    let first = (at - BASE) as usize / 8;
                    let left = WORDS - first % WORDS;
                    at = words[first + draw(&mut state) as usize % left.min(40)];
                    at
                };
                (0..STEPS).map(|_| next()).collect()
            }
            Content::Numbers => {
                (0..STEPS).map(|_| BASE + draw(&mut state) % (PAGES * PAGE) / 8 * 8).collect()
            }
            Content::List => {
                let tail = |at: usize| BASE + order[at % PAGES as usize] as u64 * PAGE + TAIL;
                for at in 0..PAGES as usize {
                    words[(tail(at) - BASE) as usize / 8] = tail(at + 1);
                }
                (0..STEPS).map(tail).collect()
            }
        };
        let (here, nowhere) = (VecDeque::new(), [false; PAGES as usize]);
        (Self { words, is_here: nowhere, is_watched: nowhere, here, came: 0 }, path)
    }

    /// The program comes to an address.
    fn touch(&mut self, pointer: &mut Pointer, address: u64, todo: &mut VecDeque<(Walk, bool)>) {
        let page = ((address - BASE) / PAGE) as usize;
        let kind = match (self.is_here[page], self.is_watched[page]) {
            (true, false) => return,
            (true, true) => FaultKind::Used,
            (false, _) => FaultKind::Demand,
        };
        let (walk, parked) = pointer.fault(address, kind);
        self.is_watched[page] = false;
        if kind == FaultKind::Demand {
            self.bring(pointer, page as u64);
        }
        let mut fetches = Fetches::default();
        pointer.enter(self, walk, &mut fetches);
        todo.extend(
            parked.into_iter().chain(fetches.iter()).map(|fetch| (fetch.walk, fetch.watch)),
        );
        while let Some((walk, watch)) = todo.pop_front() {
            let page = ((walk.entry - BASE) / PAGE) as usize;
            if self.is_here[page] {
                continue;
            }
            self.bring(pointer, page as u64);
            self.is_watched[page] = watch;
            let mut fetches = Fetches::default();
            pointer.arrived(self, walk, &mut fetches);
            todo.extend(fetches.iter().map(|fetch| (fetch.walk, fetch.watch)));
        }
    }

    /// A page comes, and the one that came first goes.
    fn bring(&mut self, pointer: &mut Pointer, page: u64) {
        self.came += 1;
        self.is_here[page as usize] = true;
        self.here.push_back(page);
        if self.here.len() > ROOM
            && let Some(gone) = self.here.pop_front()
        {
            self.is_here[gone as usize] = false;
            if std::mem::take(&mut self.is_watched[gone as usize]) {
                pointer.unused(BASE / PAGE + gone);
            }
        }
    }
}

impl Memory for Sim {
    fn place(&self, page: u64) -> Place {
        match page.checked_sub(BASE / PAGE).and_then(|page| self.is_here.get(page as usize)) {
            Some(true) => Place::Here,
            Some(false) => Place::Far,
            None => Place::Elsewhere,
        }
    }

    fn read(&mut self, address: u64, into: &mut [u64]) -> bool {
        let first = (address - BASE) as usize / 8;
        into.copy_from_slice(&self.words[first..first + into.len()]);
        true
    }

    fn array_page(&self, _age: usize) -> Option<u64> {
        None
    }
}
