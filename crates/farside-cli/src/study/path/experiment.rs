//! All settings under which a program is simulated, in one pass over its trace.

use std::collections::HashMap;

use farside_policy::prefetch::{
    NoPrefetch, Prefetcher, Proximity, ProximityOptions, Spatial, SpatialOptions,
};
use farside_policy::replacement::region::{RegionMap, RegionOptions};
use farside_policy::replacement::{Lirs, LirsOptions, Lru, RegionSpecific, ReplacementPolicy};
use farside_sim::path::{ActiveSet, AnySimulation, BehindPath, Counts, Geometry, Overheads};
use farside_sim::simulation::{Costs, Memory, Outcome, Simulation};
use farside_trace::{Block, TraceReader};

use super::capture::Captured;
use super::layout::Layout;
use super::model::{self, BUFFER, BUFFERS, SHARE, SHARES, WAYS};
use super::programs::Program;
use crate::Failure;

/// Share of LIRS's memory for pages of high recency, in thousandths. The authors' 10 are too few behind
/// the hardware's filter.
const HIGH_PERMILLE: usize = 50;

/// Share of the memory that the region-specific policy keeps for hot pages at most, as a divisor.
const MOST_HOT: usize = 4;

/// What replaces pages, and what fetches them early.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    Lru,
    /// Region-specific; mappings beside each other are one region.
    Region,
    /// Region-specific; each array is a region.
    RegionPerArray,
    Lirs,
    /// LRU, with the next pages fetched along.
    Spatial,
    /// LRU, with those pages fetched along that followed the last time.
    Proximity,
}

impl Policy {
    /// The replacement policies that are compared.
    pub const REPLACEMENT: [Self; 4] = [Self::Lru, Self::Region, Self::RegionPerArray, Self::Lirs];

    /// The prefetchers that are compared; the first is none.
    pub const PREFETCH: [Self; 3] = [Self::Lru, Self::Spatial, Self::Proximity];

    /// Those that are compared behind buffers of many sizes.
    pub const BY_BUFFER: [Self; 3] = [Self::Region, Self::Lirs, Self::Proximity];

    const ALL: [Self; 6] =
        [Self::Lru, Self::Region, Self::RegionPerArray, Self::Lirs, Self::Spatial, Self::Proximity];

    fn replacement(self, layout: &Layout, hot: usize) -> Box<dyn ReplacementPolicy> {
        let options = RegionOptions { hot, ..RegionOptions::default() };
        match self {
            Self::Lru | Self::Spatial | Self::Proximity => Box::new(Lru::new()),
            Self::Region => {
                Box::new(RegionSpecific::with_options(RegionMap::by_gap(4096, 16), options))
            }
            Self::RegionPerArray => {
                Box::new(RegionSpecific::with_options(layout.regions(), options))
            }
            Self::Lirs => Box::new(Lirs::with_options(
                "lirs",
                LirsOptions { high_permille: HIGH_PERMILLE, ..LirsOptions::default() },
            )),
        }
    }

    fn prefetcher(self, layout: &Layout) -> Box<dyn Prefetcher> {
        match self {
            Self::Spatial => Box::new(Spatial::new(SpatialOptions::default())),
            Self::Proximity => Box::new(Proximity::new(ProximityOptions {
                pages: layout.footprint.max(1),
                ..ProximityOptions::default()
            })),
            _ => Box::new(NoPrefetch),
        }
    }
}

/// A setting: policy, entries of the buffer, and memory in hundredths of the footprint.
type Setting = (Policy, usize, usize);

/// What came out for a program.
#[derive(Debug)]
pub struct Results {
    pub program: &'static Program,
    pub captured: Captured,
    outcomes: HashMap<Setting, Outcome>,
    counts: HashMap<usize, Counts>,
    protection_faults: HashMap<usize, u64>,
}

impl Results {
    /// What a policy did behind a buffer, with a share of the footprint as memory.
    pub fn outcome(&self, policy: Policy, buffer: usize, share: usize) -> Outcome {
        self.outcomes.get(&(policy, buffer, share)).copied().unwrap_or_default()
    }

    /// Its projected time in cycles.
    pub fn cycles(&self, policy: Policy, buffer: usize, share: usize) -> f64 {
        let faults = self.outcome(policy, buffer, share).demand_faults();
        model::projected(self.captured.accesses, faults)
    }

    /// The hardware's counts.
    pub fn counts(&self, buffer: usize) -> Counts {
        self.counts.get(&buffer).copied().unwrap_or_default()
    }

    /// Cost of the hardware's handlers as a share of the program's work.
    pub fn hardware_overhead(&self, buffer: usize) -> f64 {
        Overheads::default().hardware(&self.counts(buffer)) / model::work(self.captured.accesses)
    }

    /// The same with the page proximity graph.
    pub fn prefetch_overhead(&self, buffer: usize, share: usize) -> f64 {
        let faults = self.outcome(Policy::Proximity, buffer, share).demand_faults();
        let graph = Overheads::default().prefetching(faults);
        self.hardware_overhead(buffer) + graph / model::work(self.captured.accesses)
    }

    /// Cost of the software approach with so many active pages.
    pub fn software_overhead(&self, pages: usize) -> f64 {
        let faults = self.protection_faults.get(&pages).copied().unwrap_or_default();
        Overheads::default().software(faults) / model::work(self.captured.accesses)
    }
}

/// The settings behind one buffer: all of them behind the one that is not varied.
fn settings(buffer: usize) -> Vec<Setting> {
    let (policies, shares) = if buffer == BUFFER {
        (&Policy::ALL[..], &SHARES[..])
    } else {
        (&Policy::BY_BUFFER[..], &[SHARE][..])
    };
    let each = |policy: &Policy| {
        let policy = *policy;
        shares.iter().map(move |share| (policy, buffer, *share))
    };
    policies.iter().flat_map(each).collect()
}

fn simulation((policy, buffer, share): Setting, layout: &Layout) -> AnySimulation {
    let geometry = Geometry::default();
    let memory = Memory::new(layout.footprint * share / 100);
    let hot = (buffer + geometry.filter).min(memory.pages / MOST_HOT);
    // The paper's faults have one price, and what is prefetched is there at once.
    let costs = Costs { latency_ns: 0.0, byte_ns: 0.0, ..Costs::default() };
    Simulation::new(policy.replacement(layout, hot), policy.prefetcher(layout), memory, costs)
}

/// Simulates everything.
///
/// # Errors
/// If the trace cannot be read.
pub fn results(program: &'static Program, captured: Captured) -> Result<Results, Failure> {
    let bad = |error: farside_trace::TraceError| Failure::usage(error.to_string());
    let mut behind = Vec::new();
    for buffer in BUFFERS {
        let geometry = Geometry::default()
            .with_buffer(buffer, WAYS)
            .map_err(|error| Failure::own(error.to_string()))?;
        let settings = settings(buffer);
        let all = settings.iter().map(|one| simulation(*one, &captured.layout)).collect();
        behind.push((buffer, settings, BehindPath::new(geometry, all)));
    }
    let mut active = BUFFERS.map(|pages| (pages, ActiveSet::new(pages)));
    let mut reader = TraceReader::open(&captured.trace).map_err(bad)?;
    let mut block = Block::default();
    while reader.next_block(&mut block).map_err(bad)? {
        behind.iter_mut().for_each(|(.., behind)| behind.feed(&block.accesses));
        for (_, set) in &mut active {
            block.accesses.iter().for_each(|access| {
                set.access(access.page);
            });
        }
    }
    let mut outcomes = HashMap::new();
    let mut counts = HashMap::new();
    for (buffer, settings, behind) in behind {
        counts.insert(buffer, behind.counts());
        outcomes.extend(settings.into_iter().zip(behind.outcomes()));
    }
    let protection_faults = active.map(|(pages, set)| (pages, set.faults())).into();
    Ok(Results { program, captured, outcomes, counts, protection_faults })
}
