//! From a trace to the steps of a tape (3PO, section 3.2): what is fetched, and what is evicted, if the
//! program has only so much memory.
//!
//! Each thread is planned for itself, with an equal share of memory (3PO, section 3.4).

mod check;
mod derive;
mod error;
mod foresight;
mod kept;
mod lru;
mod min;
mod naming;
mod page_numbers;
mod pages;
mod pieces;
mod survey;
mod written;

use farside_trace::tape::{Step, TapeRegion};
use farside_trace::{Access, Block, MappingEvent, PageRange};
use rustc_hash::FxHashMap;

pub use check::{CheckError, Checker, Counts};
pub use derive::{Derivation, NextFetches};
pub use error::PlanError;
use foresight::{CHUNK, Foresight};
use lru::LruPlan;
use min::MinPlan;
pub use naming::{REGION_PAGES, RegionName, RegionNames};
use pages::{Pages, Use};
use pieces::{Piece, pieces};
pub use survey::{Footprint, Survey};

/// Accesses that are planned at once.
const BATCH: usize = 64;

/// Records whose steps are given out at once at the end.
const PIECE: usize = 1 << 12;

/// By what rule pages are evicted.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum PlanPolicy {
    /// The page used longest ago leaves: 3PO's rule.
    Lru,
    /// The page used last of all leaves: Belady's rule. No plan fetches less.
    Min,
}

impl PlanPolicy {
    /// The policy of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        [Self::Lru, Self::Min].into_iter().find(|policy| policy.name() == name)
    }

    /// The name: `lru` or `min`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lru => "lru",
            Self::Min => "min",
        }
    }
}

/// What is planned.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PlanOptions {
    /// By what rule.
    pub policy: PlanPolicy,
    /// Sizes of memory in pages, each for all threads together: a plan is made for each.
    pub capacities: Vec<u64>,
    /// Number of threads in the trace.
    pub threads: u32,
    /// Records in a microset of a thread; 1 for traces of single accesses.
    pub microset: usize,
}

/// Plans a trace for several sizes of memory.
///
/// Steps come out in time order for each plan and thread, through a sink that gets the number of the
/// plan (that of its capacity), the thread, and the next steps. All need 12 bytes for each page of the trace,
/// 4 more for each thread, and 4 for each plan that is being made. Steps are held back until it is known whether
/// what they fetch is written before it leaves, 2^20 of a plan and thread at most, of 4 bytes each.
///
/// LRU gives out the others at once. It needs 4 bytes for each page and plan, and 28 for each resident page; how
/// long the trace is makes no difference. MIN gives them out in [`finish`](Self::finish), and keeps 8 bytes for
/// each record until then. While it makes the last plan, it gives back what it has planned, and an eighth
/// of a byte for each record comes to the rest.
#[derive(Debug)]
pub struct Planner {
    policy: PlanPolicy,
    /// Pages of each thread, by plan.
    shares: Vec<usize>,
    most_threads: u32,
    microset: usize,
    names: RegionNames,
    pages: Pages,
    /// By number of a thread in the trace: its place among the threads.
    places: FxHashMap<u32, usize>,
    threads: Vec<Thread>,
    /// For use and use again.
    gone: Vec<PageRange>,
    uses: Vec<Use>,
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Thread {
    number: u32,
    method: Method,
}

#[derive(Debug)]
enum Method {
    /// Planned as it comes, by plan.
    Lru(Vec<LruPlan>),
    /// Kept until all is known.
    Min(Foresight),
}

impl Planner {
    /// Before the first access.
    ///
    /// # Errors
    /// [`PlanError::TooLittleMemory`] if a capacity gives a thread no page.
    pub fn new(options: &PlanOptions) -> Result<Self, PlanError> {
        let threads = options.threads.max(1);
        let share = |capacity: &u64| match capacity / u64::from(threads) {
            0 => Err(PlanError::TooLittleMemory { capacity: *capacity, threads }),
            share => Ok(usize::try_from(share).unwrap_or(usize::MAX)),
        };
        Ok(Self {
            policy: options.policy,
            shares: options.capacities.iter().map(share).collect::<Result<_, _>>()?,
            most_threads: threads,
            microset: options.microset.max(1),
            names: RegionNames::new(),
            pages: Pages::default(),
            places: FxHashMap::default(),
            threads: Vec::new(),
            gone: Vec::new(),
            uses: Vec::new(),
            steps: Vec::new(),
        })
    }

    /// The next accesses and mapping events.
    ///
    /// # Errors
    /// A [`PlanError`] if the trace cannot be planned, and those of the sink. Nothing can be planned after an
    /// error.
    pub fn feed<E: From<PlanError>>(
        &mut self,
        block: &Block,
        sink: &mut impl FnMut(usize, u32, &[Step]) -> Result<(), E>,
    ) -> Result<(), E> {
        pieces(block, |piece| match piece {
            Piece::Event(event) => Ok(self.event(event)?),
            Piece::Accesses(number, accesses) => self.accesses(number, accesses, sink),
        })
    }

    fn event(&mut self, event: &MappingEvent) -> Result<(), PlanError> {
        let kept = self.names.apply(event, &mut self.gone)?;
        for range in self.gone.drain(..) {
            let threads = &mut self.threads;
            let mut concerned = vec![false; threads.len()];
            self.pages.discard(range, |page| {
                for (thread, concerned) in threads.iter_mut().zip(&mut concerned) {
                    *concerned |= thread.forget(page);
                }
            });
            for (thread, _) in threads.iter_mut().zip(concerned).filter(|(_, concerned)| *concerned)
            {
                if let Method::Min(foresight) = &mut thread.method {
                    foresight.discard(range);
                }
            }
        }
        self.pages.keep(kept);
        Ok(())
    }

    /// Accesses between two events; `number` is that of the first.
    fn accesses<E: From<PlanError>>(
        &mut self,
        number: u64,
        accesses: &[Access],
        sink: &mut impl FnMut(usize, u32, &[Step]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut number = number;
        for of_thread in accesses.chunk_by(|one, other| one.thread == other.thread) {
            let place = self.place(of_thread[0].thread, number)?;
            for batch in of_thread.chunks(BATCH) {
                self.uses.clear();
                for access in batch {
                    let page = self.names.translate(access.page)?;
                    self.uses.push(self.pages.use_of(page, access.write)?);
                }
                self.plan(place, sink)?;
            }
            number += of_thread.len() as u64;
        }
        Ok(())
    }

    /// Plans the uses, which are of the thread at `place`.
    fn plan<E: From<PlanError>>(
        &mut self,
        place: usize,
        sink: &mut impl FnMut(usize, u32, &[Step]) -> Result<(), E>,
    ) -> Result<(), E> {
        let thread = &mut self.threads[place];
        match &mut thread.method {
            Method::Lru(plans) => {
                for (number, plan) in plans.iter_mut().enumerate() {
                    self.steps.clear();
                    plan.uses(&self.uses, &self.pages, &mut self.steps);
                    if !self.steps.is_empty() {
                        sink(number, thread.number, &self.steps)?;
                    }
                }
            }
            Method::Min(foresight) => {
                if !foresight.push(&self.uses, self.pages.len()) {
                    return Err(PlanError::TooLong { thread: thread.number }.into());
                }
            }
        }
        Ok(())
    }

    fn place(&mut self, thread: u32, access: u64) -> Result<usize, PlanError> {
        if let Some(place) = self.places.get(&thread) {
            return Ok(*place);
        }
        let place = self.threads.len();
        if place == self.most_threads as usize {
            let threads = self.most_threads;
            return Err(PlanError::TooManyThreads { thread, access, threads });
        }
        let method = match self.policy {
            PlanPolicy::Lru => Method::Lru(self.shares.iter().map(|s| LruPlan::new(*s)).collect()),
            PlanPolicy::Min => Method::Min(Foresight::default()),
        };
        self.threads.push(Thread { number: thread, method });
        self.places.insert(thread, place);
        Ok(place)
    }

    /// The regions so far, in the order of tape space.
    pub fn regions(&self) -> Vec<TapeRegion> {
        self.names.regions()
    }

    /// Gives out the steps that remain: all of them for MIN. Returns the regions.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn finish<E>(
        mut self,
        sink: &mut impl FnMut(usize, u32, &[Step]) -> Result<(), E>,
    ) -> Result<Vec<TapeRegion>, E> {
        for thread in std::mem::take(&mut self.threads) {
            match thread.method {
                Method::Min(foresight) => self.plan_known(thread.number, foresight, sink)?,
                Method::Lru(plans) => {
                    for (number, mut plan) in plans.into_iter().enumerate() {
                        self.steps.clear();
                        plan.finish(&self.pages, &mut self.steps);
                        self.give(number, thread.number, sink)?;
                    }
                }
            }
        }
        Ok(self.names.regions())
    }

    /// Plans a thread of which everything is known.
    fn plan_known<E>(
        &mut self,
        thread: u32,
        mut foresight: Foresight,
        sink: &mut impl FnMut(usize, u32, &[Step]) -> Result<(), E>,
    ) -> Result<(), E> {
        foresight.close();
        let records = foresight.len();
        for (number, share) in self.shares.iter().enumerate() {
            let mut plan = MinPlan::new(*share, self.microset, records, self.pages.len());
            for chunk in 0..foresight.chunks() {
                let end = records.min((chunk + 1) * CHUNK);
                for from in (chunk * CHUNK..end).step_by(PIECE) {
                    self.steps.clear();
                    let piece = from..end.min(from + PIECE);
                    plan.run(piece, &foresight, &self.pages, &mut self.steps);
                    self.give(number, thread, sink)?;
                }
                if number + 1 == self.shares.len() {
                    foresight.release(chunk);
                }
            }
            self.steps.clear();
            plan.finish(&self.pages, &mut self.steps);
            self.give(number, thread, sink)?;
        }
        Ok(())
    }

    /// Gives out what steps there are.
    fn give<E>(
        &self,
        plan: usize,
        thread: u32,
        sink: &mut impl FnMut(usize, u32, &[Step]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.steps.is_empty() { Ok(()) } else { sink(plan, thread, &self.steps) }
    }
}

impl Thread {
    /// The content of a page is gone; whether that has to be noted.
    fn forget(&mut self, page: u32) -> bool {
        match &mut self.method {
            Method::Lru(plans) => {
                plans.iter_mut().for_each(|plan| plan.forget(page));
                false
            }
            Method::Min(foresight) => foresight.forget(page),
        }
    }
}
