//! Simulations that prefetch along a tape (3PO), which is made while the trace is read.
//!
//! 3PO records a run, simulates LRU with the local memory on what was recorded, and lists what is missing
//! there: the tape (section 3.2). The next run prefetches along it (section 3.3). Here both runs are the
//! same trace. It is held back for [`DELAY`] accesses between the LRU that plans the tape and the
//! simulations that follow it, so that the tape is known well ahead and the trace is read once.

use std::collections::VecDeque;
use std::sync::mpsc::{self, Receiver, Sender};

use farside_policy::prefetch::{Prefetcher, Tape, TapeOptions};
use farside_policy::replacement::Lru;
use farside_trace::{Access, PageId};
use rayon::prelude::*;

use super::engine::Engine;
use super::{BadSetup, Setup};
use crate::page_map::PageMap;
use crate::replay::Replay;
use crate::simulation::Outcome;

/// Accesses that are held back: how far ahead of the program the tape is known, where fewer than a
/// lookahead of its pages come sooner. Each takes 24 bytes, once for all simulations.
pub const DELAY: usize = 1 << 20;

/// Accesses that are planned and simulated at once. They are counted from the beginning of the trace, so
/// that it makes no difference in what pieces it comes.
const CHUNK: usize = 1 << 12;

/// Simulations that follow tapes.
#[derive(Default)]
pub struct Taped {
    /// What is held back. All but the last are full.
    chunks: VecDeque<Chunk>,
    plans: Vec<Plan>,
    simulations: usize,
}

/// Some accesses.
#[derive(Default)]
struct Chunk {
    accesses: Vec<Access>,
    /// Which of them policies see, if not all of them.
    seen: Vec<bool>,
}

impl Taped {
    /// Adds the simulation that `start` makes from its prefetcher. If not `as_planned`, its policy is another
    /// one than the planner's, or does not see every access.
    ///
    /// # Errors
    /// That of `start`.
    pub fn add(
        &mut self,
        setup: &Setup,
        as_planned: bool,
        start: impl FnOnce(Box<dyn Prefetcher>) -> Result<Box<dyn Engine>, BadSetup>,
    ) -> Result<(), BadSetup> {
        // No more than one fault may fetch.
        let lookahead = (setup.window as usize).min(setup.memory.most_foreseen);
        // The program does what the tape says, and the tape is told of every use.
        let options = TapeOptions { lookahead, batch: 0, search: 1 };
        let (tape, entries) = mpsc::channel();
        let engine = start(Box::new(Tape::new(Entries(entries), options)))?;
        // What is fetched ahead takes the room of what LRU would keep. Another policy gives up pages that LRU
        // keeps; planning with less memory lists more of these (3PO, section 5.5, figure 15), and what is
        // there is not fetched for being listed.
        let kept = setup.memory.pages.saturating_sub(lookahead);
        let pages = if as_planned { kept } else { kept / 2 };
        let same = |plan: &Plan| (plan.pages, plan.lookahead) == (pages, lookahead);
        let plan = self.plans.iter().position(same).unwrap_or_else(|| {
            self.plans.push(Plan::new(pages, lookahead));
            self.plans.len() - 1
        });
        self.plans[plan].followers.push(Follower { engine, tape, number: self.simulations });
        self.simulations += 1;
        Ok(())
    }

    /// Whether there are no simulations.
    pub fn is_empty(&self) -> bool {
        self.simulations == 0
    }

    /// Takes in accesses; `seen` tells which of them policies see, if not all of them.
    fn take(&mut self, mut accesses: &[Access], mut seen: &[bool]) {
        while !accesses.is_empty() {
            let mut chunk = self.unfilled();
            let count = accesses.len().min(CHUNK - chunk.accesses.len());
            let (now, later) = accesses.split_at(count);
            let (now_seen, later_seen) = seen.split_at(count.min(seen.len()));
            chunk.accesses.extend_from_slice(now);
            chunk.seen.extend_from_slice(now_seen);
            self.chunks.push_back(chunk);
            (accesses, seen) = (later, later_seen);
        }
    }

    /// Takes out the last chunk, or a new one if it is full, for which the first is simulated if there are
    /// enough.
    fn unfilled(&mut self) -> Chunk {
        match self.chunks.pop_back() {
            Some(last) if last.accesses.len() < CHUNK => return last,
            full => self.chunks.extend(full),
        }
        if self.chunks.len() * CHUNK > DELAY { self.simulate() } else { Chunk::default() }
    }

    /// Simulates what came first; returns the chunk for other use.
    fn simulate(&mut self) -> Chunk {
        let chunks = &self.chunks;
        self.plans.par_iter_mut().for_each(|plan| plan.simulate(chunks));
        let mut chunk = self.chunks.pop_front().unwrap_or_default();
        chunk.accesses.clear();
        chunk.seen.clear();
        chunk
    }
}

impl Engine for Taped {
    fn feed(&mut self, accesses: &[Access]) {
        self.take(accesses, &[]);
    }

    fn feed_seen(&mut self, accesses: &[Access], seen: &[bool]) {
        self.take(accesses, seen);
    }

    /// In the order in which the simulations were added.
    fn finish(mut self: Box<Self>) -> Vec<Outcome> {
        while !self.chunks.is_empty() {
            self.simulate();
        }
        let followers = self.plans.into_par_iter().flat_map(|plan| plan.followers);
        let mut outcomes: Vec<_> = followers
            .flat_map_iter(|follower| {
                follower.engine.finish().into_iter().map(move |outcome| (follower.number, outcome))
            })
            .collect();
        outcomes.sort_unstable_by_key(|(number, _)| *number);
        outcomes.into_iter().map(|(_, outcome)| outcome).collect()
    }
}

/// What the tape's maker puts on it.
struct Entries(Receiver<PageId>);

impl Iterator for Entries {
    type Item = PageId;

    /// The next page, or `None` if it is not known yet.
    fn next(&mut self) -> Option<PageId> {
        self.0.try_recv().ok()
    }
}

/// A simulation, and the end of its tape.
struct Follower {
    engine: Box<dyn Engine>,
    tape: Sender<PageId>,
    number: usize,
}

/// A tape in the making, and those who follow it.
struct Plan {
    pages: usize,
    lookahead: usize,
    /// The memory of which the planner knows what is there.
    lru: Replay<Lru>,
    touched: PageMap<bool>,
    /// Of the chunks held back that were planned the number of pages on the tape.
    planned: VecDeque<usize>,
    /// Their sum.
    ahead: usize,
    followers: Vec<Follower>,
}

impl Plan {
    fn new(pages: usize, lookahead: usize) -> Self {
        Self {
            pages,
            lookahead,
            lru: Replay::new(Lru::new(), pages),
            touched: PageMap::filled(false),
            planned: VecDeque::new(),
            ahead: 0,
            followers: Vec::new(),
        }
    }

    /// Simulates the first chunk, after planning as many others as it takes to know a lookahead of pages
    /// beyond it.
    fn simulate(&mut self, chunks: &VecDeque<Chunk>) {
        let lookahead = self.lookahead;
        for chunk in chunks.iter().skip(self.planned.len()) {
            if self.planned.front().is_some_and(|first| self.ahead - first >= lookahead) {
                break;
            }
            let listed = self.plan(chunk);
            self.planned.push_back(listed);
            self.ahead += listed;
        }
        self.ahead -= self.planned.pop_front().unwrap_or(0);
        if let Some(chunk) = chunks.front() {
            self.followers.par_iter_mut().for_each(|follower| follower.simulate(chunk));
        }
    }

    /// Puts on the tape what is missing in LRU, but for pages that are nowhere yet; returns how many.
    fn plan(&mut self, chunk: &Chunk) -> usize {
        let mut listed = 0;
        for access in &chunk.accesses {
            if !self.lru.reference(access.page) {
                continue;
            }
            if std::mem::replace(self.touched.entry(access.page), true) {
                listed += 1;
                for follower in &self.followers {
                    // It fails only if the prefetcher is gone.
                    let _ = follower.tape.send(access.page);
                }
            }
        }
        listed
    }
}

impl Follower {
    fn simulate(&mut self, chunk: &Chunk) {
        if chunk.seen.is_empty() {
            self.engine.feed(&chunk.accesses);
        } else {
            self.engine.feed_seen(&chunk.accesses, &chunk.seen);
        }
    }
}
