//! `farside bench hints`: what hints cost, and what four programs gain by them (Eden, section 5).
//!
//! Runs that are compared alternate, every figure is a median, and each run has to print what the first plain run
//! printed.

mod build;
mod passes;
mod programs;
mod sites;
mod speed;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::cache::Cache;
use super::measure::Measure;
use super::network::Network;
use super::row::Row;
use super::{Failure, Shared};
use crate::progress::Progress;
use programs::Scale;
pub(crate) use programs::example_without_hints;

/// Options of `farside bench hints`.
#[derive(Debug, Args)]
pub(crate) struct HintsArgs {
    /// How large the programs' data are
    #[arg(long, value_enum, default_value_t = Scale::Full)]
    scale: Scale,
    /// Only these parts of the table
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PARTS")]
    only: Vec<Section>,
    /// A network that far memory is put behind, by its latency and bandwidth, besides none
    #[arg(long, value_name = "LATENCY,BANDWIDTH", default_value = "5us,25gbit")]
    network: Network,
    /// The network of the key-value server
    #[arg(long, value_name = "LATENCY,BANDWIDTH", default_value = "15us,25gbit")]
    server_network: Network,
    /// Where the programs are built and kept [default: farside/bench in the user's cache directory]
    #[arg(long, value_name = "DIRECTORY")]
    cache: Option<PathBuf>,
}

/// A part of the table that can be asked for by itself.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum Section {
    /// What a hint costs if the page is here.
    Cost,
    /// Pages fetched in a sequential pass, beside faults.
    Rate,
    /// Dropping scattered pages in one call, beside one call for each.
    Drop,
    /// Hinted programs with all memory local, beside programs without hints.
    Local,
    /// The parallel sort beside kernel swap.
    Sort,
    /// Analytics beside all memory local.
    Analytics,
    /// The web service with eviction priorities, beside without.
    Web,
    /// The key-value server with fibers that wait, beside threads that do.
    Server,
    /// The hints that are suggested, beside those that were chosen by hand.
    Suggested,
    /// Hints that the programs need for nearly all faults.
    Sites,
    /// What it costs to see where faults come from.
    Watching,
}

/// A benchmark of hints under way.
struct Bench<'a> {
    args: &'a HintsArgs,
    measure: Measure<'a>,
    cache: Cache,
    rows: Vec<Row>,
}

/// Measures the whole table, or the parts asked for.
pub(crate) fn run(
    args: &HintsArgs,
    shared: &Shared,
    progress: &Progress,
) -> Result<Vec<Row>, Failure> {
    let cache = Cache::at(args.cache.as_deref())?;
    let measure = Measure::new(shared, progress)?;
    let mut bench = Bench { args, measure, cache, rows: Vec::new() };
    for section in Section::value_variants() {
        if !args.only.is_empty() && !args.only.contains(section) {
            continue;
        }
        match section {
            Section::Cost => bench.cost()?,
            Section::Rate => bench.rate()?,
            Section::Drop => bench.drop_scattered()?,
            Section::Local => bench.local()?,
            Section::Sort => bench.sort()?,
            Section::Analytics => bench.analytics()?,
            Section::Web => bench.web()?,
            Section::Server => bench.server()?,
            Section::Suggested => bench.suggested()?,
            Section::Sites => bench.sites()?,
            Section::Watching => bench.watching()?,
        }
    }
    Ok(bench.rows)
}

impl Bench<'_> {
    /// Far memory without a network, and behind the one asked for, with their names.
    fn networks(&self) -> [(String, String); 2] {
        let network = &self.args.network;
        [("no latency".into(), "embedded:".into()), (network.to_string(), network.far())]
    }
}
