//! `farside bench compile`: programs compiled for far memory (Mira, chapters 3 and 7).
//!
//! Programs that nobody changed are compiled by `farside-cc` with a section file and by clang alone, both with -O2. With all
//! memory local they are held against plain runs; one of them, the traversal of a graph, also with less, against the
//! kernel's own swap, against paged far memory, and against hints and sections by hand. Runs that are compared alternate,
//! figures are medians, and each run has to print what the first plain run printed.

mod build;
mod capacities;
mod graph;
mod local;
mod notes;
mod time;
mod works;

use clap::{Args, ValueEnum};

use super::measure::Measure;
use super::network::Network;
use super::row::Row;
use super::{Failure, Shared, skip};
use crate::progress::Progress;
pub(crate) use build::Compilers;
pub(crate) use local::{informing, program};
pub(crate) use works::{AUGMENTED, FILTER, WORKS, Work};

/// Options of `farside bench compile`.
#[derive(Debug, Args)]
pub(crate) struct CompileArgs {
    /// How large the programs' data are
    #[arg(long, value_enum, default_value_t = Scale::Full)]
    scale: Scale,
    /// Only these parts of the table
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PARTS")]
    only: Vec<Section>,
    /// The network that far memory is put behind, by its latency and bandwidth
    #[arg(long, value_name = "LATENCY,BANDWIDTH", default_value = "5us,25gbit")]
    network: Network,
    /// The compiler for far memory, if not the one beside farside or on the path
    #[arg(long, value_name = "FILE", env = "FARSIDE_CC")]
    farside_cc: Option<std::path::PathBuf>,
}

/// How large the programs' data are.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scale {
    /// Some 10 to 500 MB each
    Full,
    /// At most some 20 MB each, to try the benchmark out
    Small,
}

/// A part of the table that can be asked for by itself.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum Section {
    /// Six programs with all memory local, beside clang's.
    Local,
    /// The graph with 10 to 50 % local, beside swap, pages, hints and sections by hand.
    Graph,
    /// Bytes that lines move, beside pages.
    Bytes,
    /// Lookups that are left for each edge of the graph.
    Lookups,
    /// What describes lines, beside what they hold.
    Metadata,
    /// How long it takes to compile the programs, beside clang.
    Time,
}

/// A benchmark of the compiler under way.
struct Bench<'a> {
    args: &'a CompileArgs,
    measure: Measure<'a>,
    compilers: Compilers,
    rows: Vec<Row>,
}

/// Measures the whole table, or the parts asked for.
pub(crate) fn run(
    args: &CompileArgs,
    shared: &Shared,
    progress: &Progress,
) -> Result<Vec<Row>, Failure> {
    let measure = Measure::new(shared, progress)?;
    let farside = super::launch::farside(shared)?;
    let compilers = match Compilers::find(args.farside_cc.as_deref(), &farside, &measure.scratch) {
        Ok(compilers) => compilers,
        Err(why) => {
            skip("compile", &why);
            return Ok(Vec::new());
        }
    };
    let mut bench = Bench { args, measure, compilers, rows: Vec::new() };
    for section in Section::value_variants() {
        if !args.only.is_empty() && !args.only.contains(section) {
            continue;
        }
        match section {
            Section::Local => bench.local(),
            Section::Graph => bench.graph(),
            Section::Bytes => bench.bytes(),
            Section::Lookups => bench.lookups(),
            Section::Metadata => bench.metadata(),
            Section::Time => bench.time(),
        }
    }
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
