//! `farside bench tune`: programs for which `farside tune` finds the sections (Mira, chapter 7).
//!
//! Programs that nobody changed, and for which there is no section file, are tuned for 10 to 80 % local memory, and
//! held against the kernel's own swap; figures are the seconds that the programs themselves say they took, while what
//! tuning looks at is the time from start to end. Runs that are compared alternate, figures are medians, and all have
//! to print the same.

mod offload;
mod profiling;
mod sizes;
mod steps;
mod tuned;

use clap::{Args, ValueEnum};

use super::compile::{Compilers, Scale, WORKS, Work};
use super::measure::Measure;
use super::network::Network;
use super::row::Row;
use super::{Failure, Shared, skip};
use crate::progress::Progress;

/// Options of `farside bench tune`.
#[derive(Debug, Args)]
pub(crate) struct TuneArgs {
    /// How large the programs' data are
    #[arg(long, value_enum, default_value_t = Scale::Full)]
    scale: Scale,
    /// Only these parts of the table
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PARTS")]
    only: Vec<Section>,
    /// Only these amounts of local memory, in per cent of what the programs use
    #[arg(long, value_delimiter = ',', value_name = "PERCENT", default_values_t = [10, 20, 40, 80],
          value_parser = clap::value_parser!(u64).range(1..=100))]
    local: Vec<u64>,
    /// Most configurations that tuning tries for each
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=100))]
    iterations: u32,
    /// The network that far memory is put behind, by its latency and bandwidth
    #[arg(long, value_name = "LATENCY,BANDWIDTH", default_value = "5us,25gbit")]
    network: Network,
    /// The compiler for far memory, if not the one beside farside or on the path
    #[arg(long, value_name = "FILE", env = "FARSIDE_CC")]
    farside_cc: Option<std::path::PathBuf>,
}

/// A part of the table that can be asked for by itself.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum Section {
    /// The graph.
    Graph,
    /// The network simplex.
    Simplex,
    /// The queries on a data frame.
    Frame,
    /// The forward pass.
    Gpt2,
    /// GPT-2 with very little local memory beside all of it.
    Least,
    /// Sizes by the solver beside all others.
    Sizes,
    /// A filter and an aggregate where their data is.
    Offload,
    /// What it costs a program to measure itself.
    Profiling,
}

impl Section {
    /// The program that is tuned, if it is one of those that all benchmarks of the compiler know.
    fn work(self) -> Option<&'static Work> {
        let name = match self {
            Self::Graph => "graph traversal",
            Self::Simplex => "network simplex",
            Self::Frame => "data-frame queries",
            Self::Gpt2 | Self::Least => "GPT-2 forward pass",
            Self::Sizes | Self::Offload | Self::Profiling => return None,
        };
        WORKS.iter().find(|work| work.name == name)
    }
}

/// A benchmark of tuning under way.
struct Bench<'a> {
    args: &'a TuneArgs,
    measure: Measure<'a>,
    compilers: Compilers,
    farside: std::path::PathBuf,
    rows: Vec<Row>,
    /// How many times faster than kernel swap a tuned program was at most.
    best: f64,
}

/// Measures the whole table, or the parts asked for.
pub(crate) fn run(
    args: &TuneArgs,
    shared: &Shared,
    progress: &Progress,
) -> Result<Vec<Row>, Failure> {
    let measure = Measure::new(shared, progress)?;
    let farside = super::launch::farside(shared)?;
    let compilers = match Compilers::find(args.farside_cc.as_deref(), &farside, &measure.scratch) {
        Ok(compilers) => compilers,
        Err(why) => {
            skip("tune", &why);
            return Ok(Vec::new());
        }
    };
    let mut bench = Bench { args, measure, compilers, farside, rows: Vec::new(), best: 0.0 };
    for section in Section::value_variants() {
        if !args.only.is_empty() && !args.only.contains(section) {
            continue;
        }
        match (section, section.work()) {
            (Section::Least, Some(work)) => bench.least(work),
            (_, Some(work)) => bench.beside_swap(work),
            (Section::Offload, None) => bench.offload(),
            (Section::Profiling, None) => bench.profiling(),
            (_, None) => bench.sizes(),
        }
    }
    bench.best_beside_swap();
    Ok(bench.rows)
}

impl Bench<'_> {
    /// Adds the row that `figures`, ours and the partner's, come to.
    fn add(&mut self, row: Row, figures: Result<(f64, Option<f64>), Failure>) {
        self.rows.push(match figures {
            Ok((ours, partner)) => Row { ours, partner, ..row },
            Err(why) => Row::failed(&row.work, row.unit, row.goal, &why.to_string()),
        });
    }
}
