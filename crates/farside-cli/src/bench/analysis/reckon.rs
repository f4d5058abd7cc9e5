//! One computation over a trace, timed, in a process of its own: what the analysis benchmark runs.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, ValueEnum};
use farside_sim::belady::{self, Insertion};
use farside_sim::curve::{Distances, LruDistances, MruDistances, OptDistances, SampledDistances};
use farside_sim::next_use::next_uses;
use farside_sim::simulation::{Costs, Memory};
use farside_sim::sweep::{Setup, Sweep};
use farside_trace::{Block, PageId, TraceReader};
use serde::{Deserialize, Serialize};

use super::references::{Fenwick, OrderTree};
use crate::bench::Failure;

/// Options of the hidden `farside bench reckon`.
#[derive(Debug, Args)]
pub(crate) struct ReckonArgs {
    /// The trace.
    trace: PathBuf,
    /// What to compute.
    #[arg(long, value_enum)]
    by: Method,
    /// The replacement policy of a simulation.
    #[arg(long, default_value = "lru")]
    policy: String,
    /// Sizes of memory in pages.
    #[arg(long, value_delimiter = ',')]
    pages: Vec<usize>,
}

/// A computation.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Method {
    /// The exact LRU curve.
    Lru,
    /// The same by a plain Fenwick tree.
    Fenwick,
    /// The same by an order-statistics tree.
    Tree,
    /// The LRU curve from one page in a hundred.
    Sampled,
    /// The exact MRU curve.
    Mru,
    /// The exact curve of MIN.
    Opt,
    /// MIN with each of the given sizes, one after the other.
    Min,
    /// The exact LRU curve, of a trace that is read meanwhile.
    Streamed,
    /// A policy with the given sizes at once, of a trace that is read meanwhile.
    Simulate,
}

impl Method {
    /// The name on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// What the process answers with.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Reckoned {
    /// Time of the computation, in nanoseconds.
    pub ns: f64,
    /// References in the trace.
    pub references: u64,
    /// Different pages in it.
    pub touched: u64,
    /// Stands for the whole curve: equal curves have equal digests.
    pub digest: u64,
    /// Misses with each of the given sizes, as a share of the references.
    pub miss_ratios: Vec<f64>,
    /// Bytes of resident memory before the computation.
    pub resident_before: u64,
}

/// Share of the pages in a sample.
const RATE: f64 = 0.01;

/// Computes, and answers with an object.
pub(crate) fn run(args: &ReckonArgs) -> Result<String, Failure> {
    let threads = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let threads = threads.map_err(|e| Failure::new(format!("one thread: {e}")))?;
    let reckoned = threads.install(|| reckon(args))?;
    serde_json::to_string(&reckoned).map_err(|e| Failure::new(e.to_string()))
}

fn reckon(args: &ReckonArgs) -> Result<Reckoned, Failure> {
    let resident_before = resident();
    let pages = match args.by {
        Method::Simulate | Method::Streamed => Vec::new(),
        _ => pages(args)?,
    };
    let begin = Instant::now();
    let mut found = match args.by {
        Method::Simulate => simulate(args)?,
        Method::Streamed => {
            let mut lru = LruDistances::new();
            each(args, |pages| lru.references(pages))?;
            of_distances(lru.distances(), args)
        }
        Method::Sampled => {
            let mut sample = SampledDistances::new(RATE, 0);
            sample.references(&pages);
            of_sample(&sample, args)
        }
        Method::Lru => {
            let mut lru = LruDistances::new();
            lru.references(&pages);
            of_distances(lru.distances(), args)
        }
        Method::Fenwick => {
            let mut tree = Fenwick::new(pages.len());
            by(&pages, args, |page| tree.reference(page))
        }
        Method::Tree => {
            let mut tree = OrderTree::new();
            by(&pages, args, |page| tree.reference(page))
        }
        Method::Mru => {
            let mut mru = MruDistances::new();
            pages.iter().for_each(|page| mru.reference(*page));
            of_distances(mru.distances(), args)
        }
        Method::Opt => of_distances(&OptDistances::of(&next_uses(&pages)), args),
        Method::Min => min(&next_uses(&pages), args),
    };
    found.ns = begin.elapsed().as_nanos() as f64;
    found.resident_before = resident_before;
    Ok(found)
}

/// The whole trace.
fn pages(args: &ReckonArgs) -> Result<Vec<PageId>, Failure> {
    let mut pages = Vec::new();
    each(args, |some| pages.extend_from_slice(some))?;
    Ok(pages)
}

/// Gives the pages of the trace to `take` as they are read.
fn each(args: &ReckonArgs, mut take: impl FnMut(&[PageId])) -> Result<(), Failure> {
    let bad = |e: farside_trace::TraceError| Failure::new(e.to_string());
    let mut reader = TraceReader::open(&args.trace).map_err(bad)?;
    let (mut block, mut pages) = (Block::default(), Vec::new());
    while reader.next_block(&mut block).map_err(bad)? {
        pages.clear();
        pages.extend(block.accesses.iter().map(|access| access.page));
        take(&pages);
    }
    Ok(())
}

fn by(
    pages: &[PageId],
    args: &ReckonArgs,
    mut reference: impl FnMut(PageId) -> Option<usize>,
) -> Reckoned {
    let mut distances = Distances::default();
    pages.iter().for_each(|page| match reference(*page) {
        Some(distance) => distances.add(distance),
        None => distances.add_cold(),
    });
    of_distances(&distances, args)
}

fn of_distances(distances: &Distances, args: &ReckonArgs) -> Reckoned {
    let mut hasher = DefaultHasher::new();
    distances.iter().for_each(|count| count.hash(&mut hasher));
    let curve = distances.curve();
    Reckoned {
        references: distances.references(),
        touched: distances.cold(),
        digest: hasher.finish(),
        miss_ratios: args.pages.iter().map(|pages| curve.miss_ratio(*pages)).collect(),
        ..Reckoned::default()
    }
}

fn of_sample(sample: &SampledDistances, args: &ReckonArgs) -> Reckoned {
    let curve = sample.curve(&args.pages);
    let miss_ratios = curve.points.iter().map(|point| point.miss_ratio).collect();
    Reckoned { references: curve.references, miss_ratios, ..Reckoned::default() }
}

fn simulate(args: &ReckonArgs) -> Result<Reckoned, Failure> {
    let setup = |pages: &usize| Setup {
        replacement: args.policy.clone(),
        prefetch: "none".into(),
        window: 0,
        memory: Memory::new(*pages),
    };
    let setups: Vec<_> = args.pages.iter().map(setup).collect();
    let bad = |e: farside_trace::TraceError| Failure::new(e.to_string());
    let mut sweep =
        Sweep::new(&setups, Costs::default()).map_err(|e| Failure::new(e.to_string()))?;
    let mut reader = TraceReader::open(&args.trace).map_err(bad)?;
    let mut block = Block::default();
    while reader.next_block(&mut block).map_err(bad)? {
        sweep.feed(&block.accesses);
    }
    let outcomes: Vec<_> = sweep.finish().into_iter().flatten().collect();
    let ratio = |misses: u64, accesses: u64| misses as f64 / accesses.max(1) as f64;
    Ok(Reckoned {
        references: outcomes.first().map_or(0, |outcome| outcome.accesses),
        miss_ratios: outcomes.iter().map(|out| ratio(out.misses, out.accesses)).collect(),
        ..Reckoned::default()
    })
}

/// MIN, with one size after the other.
fn min(next: &[u32], args: &ReckonArgs) -> Reckoned {
    let ratio = |pages: &usize| {
        belady::misses(next, *pages, Insertion::Forced) as f64 / next.len().max(1) as f64
    };
    let miss_ratios = args.pages.iter().map(ratio).collect();
    Reckoned { references: next.len() as u64, miss_ratios, ..Reckoned::default() }
}

/// Bytes of this process that are resident.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * farside_trace::PAGE_SIZE as u64
}
