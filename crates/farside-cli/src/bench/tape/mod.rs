//! `farside bench tape`: the programs of the 3PO paper (section 5, Table 2), recorded beside plain runs
//! and beside Valgrind's lackey, their traces planned, and the tapes followed beside runs without.
//!
//! Runs that are compared alternate, every figure is a median, and each run has to print what the
//! first plain run printed.

mod build;
mod bytes;
mod faults;
mod figures;
pub(crate) mod plan;
mod planning;
mod programs;
mod replay;
mod runs;
mod speed;
mod sweep;
mod tapes;
mod tracing;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::cache::Cache;
use super::network::Network;
use super::row::Row;
use super::{Failure, Shared, skip};
use crate::progress::Progress;
use programs::{Name, Ready, Scale};
use replay::{Mode, Replayed};
use runs::Runs;
use sweep::Part;

/// Pages in a microset, as the paper chose it.
const MICROSET: usize = 1024;

/// Local memory in percent, where nothing else is said.
const LOCAL: u64 = 20;

/// What runs in turn with so much local memory.
const TABLE: [Mode; 5] =
    [Mode::MinTape, Mode::LruTape, Mode::ReadAhead, Mode::AllLocal, Mode::Plain];

/// Options of `farside bench tape`.
#[derive(Debug, Args)]
pub(crate) struct TapeArgs {
    /// How large the programs' data are
    #[arg(long, value_enum, default_value_t = Scale::Full)]
    scale: Scale,
    /// Only these programs
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAMES")]
    programs: Vec<Name>,
    /// Only these parts of the table
    #[arg(long, value_enum)]
    only: Vec<Section>,
    /// Networks that far memory is put behind, each by its latency and bandwidth
    #[arg(long = "network", value_name = "LATENCY,BANDWIDTH",
          default_values = ["5us,25gbit", "15us,10gbit"])]
    networks: Vec<Network>,
    /// Write times and counters of each way to run on far memory to this file, tab-separated
    #[arg(long, value_name = "FILE")]
    details: Option<PathBuf>,
    /// Measure and draw into this directory what follows from the local memory, the microset, the
    /// lookahead and the batch; without --only nothing else is done
    #[arg(long, value_name = "DIRECTORY")]
    sweep: Option<PathBuf>,
    /// Only these parts of the sweep
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PARTS", requires = "sweep")]
    sweep_of: Vec<Part>,
    /// Where the programs are built and kept [default: farside/bench in the user's cache directory]
    #[arg(long, value_name = "DIRECTORY")]
    cache: Option<PathBuf>,
}

/// A part of the table that can be asked for by itself.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum Section {
    /// Recording beside plain runs.
    Tracing,
    /// Recording beside Valgrind's lackey.
    Lackey,
    /// Speed of planning, and what plans fetch.
    Planning,
    /// Demand faults with tapes, beside read-ahead and beside no prefetch.
    Faults,
    /// Run times with tapes, beside all memory local and beside read-ahead.
    Speed,
    /// Bytes that runs by MIN and LRU tapes fetch.
    Bytes,
}

/// A tape benchmark under way.
struct Bench<'a> {
    args: &'a TapeArgs,
    runs: Runs<'a>,
    programs: Vec<Ready>,
    /// What was run on far memory so far.
    replayed: Vec<Replayed<'a>>,
    rows: Vec<Row>,
}

/// Measures the whole table, or the parts asked for.
pub(crate) fn run<'a>(
    args: &'a TapeArgs,
    shared: &'a Shared,
    progress: &'a Progress,
) -> Result<Vec<Row>, Failure> {
    let cache = Cache::at(args.cache.as_deref())?;
    let runs = Runs::new(shared, progress)?;
    let mut programs = Vec::new();
    for name in Name::value_variants() {
        if !args.programs.is_empty() && !args.programs.contains(name) {
            continue;
        }
        progress.say(format!("building {}", name.text()));
        match programs::prepare(*name, args.scale, &cache) {
            Ok(ready) => programs.push(ready),
            Err(why) => skip(name.text(), &why),
        }
    }
    let mut bench = Bench { args, runs, programs, replayed: Vec::new(), rows: Vec::new() };
    if bench.wants(Section::Tracing) {
        bench.tracing()?;
    }
    if bench.wants(Section::Lackey) {
        bench.beside_lackey()?;
    }
    if bench.wants(Section::Planning) {
        bench.planning()?;
    }
    if bench.wants(Section::Faults) {
        bench.faults()?;
    }
    if bench.wants(Section::Speed) {
        bench.speed()?;
    }
    if bench.wants(Section::Bytes) {
        bench.bytes()?;
    }
    if let Some(directory) = &args.sweep {
        bench.sweep(directory)?;
    }
    Ok(bench.rows)
}

impl Bench<'_> {
    fn wants(&self, section: Section) -> bool {
        let all = self.args.only.is_empty() && self.args.sweep.is_none();
        all || self.args.only.contains(&section)
    }
}
