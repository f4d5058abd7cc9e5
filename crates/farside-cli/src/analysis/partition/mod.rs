//! `farside partition`: memory shared out among programs by their curves.

mod report;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use farside_policy::replacement;
use farside_sim::curve::LruDistances;
use farside_sim::partition::pool::{Pool, Usage};
use farside_sim::partition::{Goal, Impossible, Partitioning, Program};
use farside_sim::simulation::Costs;
use farside_trace::{PAGE_SIZE, TraceReader};

use super::MemorySize;
use super::costs::costs;
use super::trace::read;
use crate::Failure;
use crate::options::Size;
use crate::output;
use crate::traces::progress::bar;
use report::{Report, Row};

/// What the command compares, for its help.
pub const HELP: &str = "\
Ways to share memory out:
  equal    the same for each program
  greedy   from there on, pages go from the program that loses least by it to the one that
           gains most, as long as that is worth it (PATH, section 4.2)
  optimum  no other shares are better
  pool     no shares: one memory and one policy (--replacement) over all programs

Shares are kept from start to end, and each program is served by LRU in its own. In the pool the
programs start together and advance each in its own projected time; one that ends gives its pages
back.

Goals:
  throughput  the fewest misses of all together
  fairness    the program that is slowed down most is slowed down as little as can be
  weights     the fewest misses, those of each program times its weight";

/// Options of `farside partition`.
#[derive(Debug, Args)]
pub struct PartitionArguments {
    /// A trace for each program.
    #[arg(value_name = "TRACES", required = true, num_args = 1..)]
    traces: Vec<PathBuf>,
    /// Memory of all programs together: bytes (8G), pages (1000p) or a share of the sum of their
    /// footprints (50%).
    #[arg(long, value_name = "SIZE")]
    memory: MemorySize,
    /// What the shares are for [default: throughput, or weights if those are given].
    #[arg(long, value_enum)]
    goal: Option<GoalName>,
    /// What a miss of each program counts, in the order of the traces.
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    weights: Option<Vec<f64>>,
    /// Least memory of each program.
    #[arg(long, value_name = "SIZE", default_value = "1p")]
    least: MemorySize,
    /// Memory that the greedy way moves at a time [default: half of an equal share, then ever
    /// less].
    #[arg(long, value_name = "SIZE")]
    chunk: Option<MemorySize>,
    /// Replacement policy of the pool.
    #[arg(long, value_name = "NAME", default_value = "lru")]
    replacement: String,
    /// Latency and bandwidth of the network.
    #[arg(long, value_name = "LATENCY,BANDWIDTH", default_value = "5us,25gbit")]
    network: String,
    /// Work of a program for each data access, in nanoseconds.
    #[arg(long, value_name = "NS", default_value_t = 1.0)]
    access_ns: f64,
    /// Print an object instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum GoalName {
    Throughput,
    Fairness,
    Weights,
}

/// Shares memory out in each way, and prints what comes of it.
pub fn partition(arguments: &PartitionArguments) -> Result<ExitCode, Failure> {
    let costs = costs(&arguments.network, arguments.access_ns)?;
    if costs.access_ns == 0.0 {
        return Err(Failure::usage("--access-ns 0: without work nothing is slowed down"));
    }
    if replacement::by_name(&arguments.replacement).is_none() {
        let name = &arguments.replacement;
        let names = replacement::NAMES.iter().chain(replacement::OMNISCIENT);
        let names: Vec<_> = names.map(|(name, _)| *name).collect();
        let known = names.join(", ");
        return Err(Failure::usage(format!(
            "--replacement {name}: no policy of a pool is called so; there are {known}"
        )));
    }
    let goal = goal(arguments)?;
    let programs: Vec<_> = arguments
        .traces
        .iter()
        .map(|path| program(path, arguments.least, &costs))
        .collect::<Result<_, _>>()?;
    let footprints: u64 = programs.iter().map(Program::footprint).sum();
    let memory = arguments.memory.pages(footprints);
    let partitioning =
        Partitioning::new(programs, memory, goal).map_err(|error| impossible(arguments, &error))?;
    let pool = pool(arguments, memory.min(footprints as usize), costs)?;
    let chunk = arguments.chunk.map(|chunk| chunk.pages(memory as u64));
    let optimum = farside_sim::partition::optimum(&partitioning);
    let report = Report::new(
        &arguments.traces,
        &partitioning,
        vec![
            Row::of_shares("equal", &partitioning, &partitioning.equal()),
            Row::of_shares("greedy", &partitioning, &partitioning.greedy(chunk)),
            Row::of_optimum(&partitioning, &optimum),
            Row::of_pool(&arguments.replacement, &partitioning, &pool),
        ],
    );
    if arguments.json {
        output::print_json(&report)?;
    } else {
        output::print(&report)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What cannot be shared out, with what says so on the command line.
fn impossible(arguments: &PartitionArguments, error: &Impossible) -> Failure {
    let by = match error {
        Impossible::Programs(_) => "TRACES".to_owned(),
        Impossible::TooLittle { .. } => format!("--memory {}", arguments.memory),
        Impossible::Weights { .. } | Impossible::Weight(_) => "--weights".to_owned(),
    };
    Failure::usage(format!("{by}: {error}"))
}

fn goal(arguments: &PartitionArguments) -> Result<Goal, Failure> {
    match (arguments.goal, &arguments.weights) {
        (None | Some(GoalName::Weights), Some(weights)) => Ok(Goal::Weights(weights.clone())),
        (Some(GoalName::Weights), None) => {
            Err(Failure::usage("--goal weights: give --weights, one for each program"))
        }
        (Some(_), Some(_)) => Err(Failure::usage("--weights: they count for --goal weights only")),
        (None | Some(GoalName::Throughput), None) => Ok(Goal::Throughput),
        (Some(GoalName::Fairness), None) => Ok(Goal::Fairness),
    }
}

/// The program whose trace is at `path`.
fn program(path: &Path, least: MemorySize, costs: &Costs) -> Result<Program, Failure> {
    let mut distances = LruDistances::new();
    let mut data_accesses = 0;
    read(path, "analysing", |accesses| {
        for access in accesses {
            distances.reference(access.page);
            data_accesses += u64::from(access.weight);
        }
    })?;
    let curve = distances.distances().curve();
    if curve.references() == 0 {
        return Err(Failure::usage(format!("{}: no accesses in it", path.display())));
    }
    let program = Program::new(curve, data_accesses, costs);
    let least = least.pages(program.footprint());
    Ok(program.with_least(least))
}

/// What becomes of the programs in one pool.
fn pool(arguments: &PartitionArguments, pages: usize, costs: Costs) -> Result<Vec<Usage>, Failure> {
    let bad = |error: farside_trace::TraceError| Failure::usage(error.to_string());
    let policy = replacement::by_name(&arguments.replacement)
        .ok_or_else(|| Failure::usage(format!("--replacement {}", arguments.replacement)))?;
    let open = |path: &PathBuf| TraceReader::open(path).map(TraceReader::accesses);
    let mut traces: Vec<_> =
        arguments.traces.iter().map(open).collect::<Result<_, _>>().map_err(bad)?;
    let sizes = arguments.traces.iter().map(|path| std::fs::metadata(path).ok());
    let bytes = sizes.map(|file| file.map(|file| file.len())).sum();
    let bar = bar(bytes).with_message("simulating one pool");
    let pool = Pool::new(policy, pages, traces.len(), costs);
    let usages = pool.run(&mut traces, |traces| {
        bar.set_position(traces.iter().map(|trace| trace.reader().bytes_read()).sum());
    });
    bar.finish_and_clear();
    usages.map_err(bad)
}

/// Pages as a user reads them.
fn size(pages: u64) -> Size {
    Size(pages.saturating_mul(PAGE_SIZE as u64))
}
