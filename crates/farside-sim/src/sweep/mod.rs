//! Many simulations in one pass over a trace, on all processors.

mod engine;
mod taped;

use std::fmt;

use farside_policy::prefetch::{self, Prefetcher};
use farside_trace::Access;
use rayon::prelude::*;

use crate::belady::{self, Insertion};
use crate::next_use::NextUses;
use crate::path::{Geometry, Path, SpacePage};
use crate::simulation::{Costs, Memory, Outcome};
use engine::{Engine, LruEngine};
use taped::Taped;

pub use taped::DELAY as TAPE_DELAY;

/// Names of the policies that know the future, and whether they have to let every page in.
pub const CLAIRVOYANT: &[(&str, &str, Insertion)] = &[
    ("opt", "Belady's MIN: the fewest misses there can be", Insertion::Forced),
    ("opt-bypass", "the same, if pages may be used without being kept", Insertion::Optional),
];

/// One simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// Name of the replacement policy.
    pub replacement: String,
    /// Name of the prefetcher.
    pub prefetch: String,
    /// Most pages that a prefetcher with a window fetches at once; the lookahead of a tape, which is no
    /// more than the memory allows one fault to fetch.
    pub window: u32,
    /// The memory.
    pub memory: Memory,
}

/// A simulation that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadSetup {
    /// No such policy.
    Replacement(String),
    /// No such prefetcher.
    Prefetch(String),
    /// A policy that knows the future has no use for a prefetcher.
    Clairvoyant(String, String),
}

impl fmt::Display for BadSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replacement(name) => write!(f, "no replacement policy is called {name:?}"),
            Self::Prefetch(name) => write!(f, "no prefetcher is called {name:?}"),
            Self::Clairvoyant(policy, prefetcher) => {
                write!(f, "{policy} is simulated without prefetching: leave {prefetcher:?} out")
            }
        }
    }
}

impl std::error::Error for BadSetup {}

/// Where the outcome of a setup is found.
#[derive(Copy, Clone)]
enum Run {
    /// The engine, and the number of the simulation in it.
    Simulated(usize, usize),
    Clairvoyant(usize, Insertion),
}

/// Simulations that see the same accesses.
pub struct Sweep {
    setups: Vec<Setup>,
    engines: Vec<Box<dyn Engine>>,
    runs: Vec<Run>,
    costs: Costs,
    /// For the clairvoyant ones.
    future: Option<NextUses>,
    /// What hides accesses from policies.
    path: Option<Path>,
    seen: Vec<bool>,
    accesses: u64,
    data_accesses: u64,
    too_long: bool,
}

impl Sweep {
    /// The given simulations, before the first access.
    ///
    /// # Errors
    /// If one of them cannot be.
    pub fn new(setups: &[Setup], costs: Costs) -> Result<Self, BadSetup> {
        let (engines, runs) = engines(setups, costs, None)?;
        let clairvoyant = runs.iter().any(|run| matches!(run, Run::Clairvoyant(..)));
        Ok(Self {
            setups: setups.to_vec(),
            engines,
            runs,
            costs,
            future: clairvoyant.then(NextUses::new),
            path: None,
            seen: Vec::new(),
            accesses: 0,
            data_accesses: 0,
            too_long: false,
        })
    }

    /// The same simulations from their beginning, in which policies see only what PATH's hardware
    /// records; whether a page is there is checked on every access. What knows the future sees
    /// everything.
    ///
    /// # Errors
    /// As [`Sweep::new`].
    pub fn behind_path(self, geometry: Geometry) -> Result<Self, BadSetup> {
        let (engines, runs) = engines(&self.setups, self.costs, Some(&geometry))?;
        Ok(Self { engines, runs, path: Some(Path::new(geometry)), ..self })
    }

    /// Lets all simulations see the next accesses.
    pub fn feed(&mut self, accesses: &[Access]) {
        self.accesses += accesses.len() as u64;
        self.data_accesses += accesses.iter().map(|access| u64::from(access.weight)).sum::<u64>();
        if let Some(future) = &mut self.future {
            self.too_long |= !accesses.iter().all(|access| future.push(access.page));
        }
        let Some(path) = &mut self.path else {
            return self.engines.par_iter_mut().for_each(|engine| engine.feed(accesses));
        };
        self.seen.clear();
        let recorded =
            |access: &Access| path.access(SpacePage { space: 0, page: access.page }, |_| ());
        self.seen.extend(accesses.iter().map(recorded));
        let seen = &self.seen;
        self.engines.par_iter_mut().for_each(|engine| engine.feed_seen(accesses, seen));
    }

    /// Data accesses seen: records times their weights.
    pub fn data_accesses(&self) -> u64 {
        self.data_accesses
    }

    /// What came out, in the order of the setups; `None` for a policy that knows the future if the trace
    /// has 2^32 - 1 accesses or more.
    pub fn finish(self) -> Vec<Option<Outcome>> {
        let next = self.future.filter(|_| !self.too_long).map(NextUses::finish);
        let first_touches = next.as_ref().map_or(0, |next| {
            next.iter().filter(|next| **next == crate::next_use::NEVER).count() as u64
        });
        let (accesses, costs) = (self.accesses, self.costs);
        let work_ns = costs.access_ns * self.data_accesses as f64;
        let clairvoyant = |pages: usize, insertion: Insertion| {
            let misses = belady::misses(next.as_ref()?, pages, insertion);
            let fault_ns =
                costs.fault_ns + costs.latency_ns + costs.byte_ns * farside_trace::PAGE_SIZE as f64;
            let faults = (misses - first_touches) as f64;
            let waited_ns = faults * fault_ns + first_touches as f64 * costs.first_touch_ns;
            Some(Outcome {
                accesses,
                misses,
                first_touches,
                fetched_bytes: (misses - first_touches) * farside_trace::PAGE_SIZE as u64,
                projected_time_ns: (work_ns + waited_ns).round() as u64,
                waited_ns: waited_ns as u64,
                ..Outcome::default()
            })
        };
        let outcomes: Vec<_> = self.engines.into_par_iter().map(|engine| engine.finish()).collect();
        self.runs
            .into_par_iter()
            .map(|run| match run {
                Run::Simulated(engine, number) => Some(outcomes[engine][number]),
                Run::Clairvoyant(pages, insertion) => clairvoyant(pages, insertion),
            })
            .collect()
    }
}

type Engines = (Vec<Box<dyn Engine>>, Vec<Run>);

/// Name of the prefetcher whose simulations follow a tape.
const TAPE: &str = "tape";

/// What carries the simulations out. Those of LRU without prefetching share an engine if no hardware
/// hides accesses from them, and so do those that follow tapes.
fn engines(
    setups: &[Setup],
    costs: Costs,
    hardware: Option<&Geometry>,
) -> Result<Engines, BadSetup> {
    let shares = |setup: &Setup| {
        hardware.is_none() && setup.replacement == "lru" && setup.prefetch == "none"
    };
    let mut sizes: Vec<_> =
        setups.iter().filter(|setup| shares(setup)).map(|setup| setup.memory.pages).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut engines: Vec<Box<dyn Engine>> = Vec::new();
    if !sizes.is_empty() {
        engines.push(Box::new(LruEngine::new(&sizes, costs)));
    }
    let tapes = engines.len();
    engines.extend(tape_engine(setups, costs, hardware)?);
    let mut followers = 0..;
    let mut runs = Vec::with_capacity(setups.len());
    for setup in setups {
        runs.push(if shares(setup) {
            Run::Simulated(0, sizes.partition_point(|size| *size < setup.memory.pages))
        } else if let Some(insertion) = clairvoyant(setup)? {
            Run::Clairvoyant(setup.memory.pages, insertion)
        } else if setup.prefetch == TAPE {
            Run::Simulated(tapes, followers.next().unwrap_or(0))
        } else {
            let prefetcher = prefetch::by_name(&setup.prefetch, setup.window)
                .ok_or_else(|| BadSetup::Prefetch(setup.prefetch.clone()))?;
            engines.push(simulation(setup, prefetcher, costs, hardware)?);
            Run::Simulated(engines.len() - 1, 0)
        });
    }
    Ok((engines, runs))
}

/// What carries out the simulations that follow tapes, if there are any.
fn tape_engine(
    setups: &[Setup],
    costs: Costs,
    hardware: Option<&Geometry>,
) -> Result<Option<Box<dyn Engine>>, BadSetup> {
    let mut taped = Taped::default();
    for setup in setups.iter().filter(|setup| setup.prefetch == TAPE) {
        if clairvoyant(setup)?.is_none() {
            let start = |prefetcher| simulation(setup, prefetcher, costs, hardware);
            let as_planned = setup.replacement == "lru" && hardware.is_none();
            taped.add(setup, as_planned, start)?;
        }
    }
    Ok((!taped.is_empty()).then(|| Box::new(taped) as Box<dyn Engine>))
}

/// Whether the policy knows the future, and whether it has to let every page in.
fn clairvoyant(setup: &Setup) -> Result<Option<Insertion>, BadSetup> {
    match CLAIRVOYANT.iter().find(|(name, ..)| *name == setup.replacement) {
        Some((name, ..)) if setup.prefetch != "none" => {
            Err(BadSetup::Clairvoyant(name.to_string(), setup.prefetch.clone()))
        }
        found => Ok(found.map(|(.., insertion)| *insertion)),
    }
}

fn simulation(
    setup: &Setup,
    prefetcher: Box<dyn Prefetcher>,
    costs: Costs,
    hardware: Option<&Geometry>,
) -> Result<Box<dyn Engine>, BadSetup> {
    let policy = &setup.replacement;
    let engine = if let (Some(hardware), "region") = (hardware, policy.as_str()) {
        Some(engine::region_behind(hardware, prefetcher, setup.memory, costs))
    } else if setup.prefetch == "none" {
        engine::without_prefetch(policy, setup.memory, costs)
    } else {
        engine::with_prefetch(policy, prefetcher, setup.memory, costs)
    };
    engine.ok_or_else(|| BadSetup::Replacement(policy.clone()))
}
