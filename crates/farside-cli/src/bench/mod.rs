//! `farside bench`: what Farside's promises are held to, measured beside a partner in the same run.
//!
//! One file per benchmark. A benchmark returns rows; everything else - repetition, medians,
//! the table, `--json` - is shared.

mod analysis;
mod balance;
mod cache;
mod compile;
mod demo;
mod hints;
mod janitor;
mod kernel;
mod lackey;
mod launch;
mod measure;
mod mechanisms;
mod network;
mod nodes;
mod paging;
mod pointers;
mod programs;
mod rawfault;
mod row;
mod sections;
mod stats;
mod swap;
mod tape;
mod tracking;
mod tune;
mod uffd;
mod warmup;
mod workload;

pub(crate) use hints::example_without_hints;
pub(crate) use programs::PYTHON;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::progress::Progress;
use row::Row;

/// Options of `farside bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    #[command(subcommand)]
    what: What,
    #[command(flatten)]
    shared: Shared,
}

/// Options that every benchmark takes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Shared {
    /// Print an array of objects instead of a table
    #[arg(long, global = true)]
    json: bool,
    /// Runs of each kind; the table shows their median
    #[arg(long, global = true, value_name = "N", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    repetitions: u32,
    /// The farside command to measure, if not this one
    #[arg(long, global = true, value_name = "FILE", env = "FARSIDE_BIN", hide = true)]
    farside: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// What the kernel charges for each operation that paging is built from
    Mechanisms(mechanisms::MechanismsArgs),
    /// Far memory at 20 % local beside the kernel's own swap, and at 100 % beside plain runs
    Paging(paging::PagingArgs),
    /// Miss-rate curves, simulations and captures beside other ways to have them
    Analysis(analysis::AnalysisArgs),
    /// Recording and planning of the programs of the 3PO paper, beside plain runs and other ways
    Tape(tape::TapeArgs),
    /// Hints: what they cost, and four programs with and without them, beside the kernel's own swap
    Hints(hints::HintsArgs),
    /// Programs compiled for far memory: with all of it local, and beside the kernel's own swap, pages and hints
    Compile(compile::CompileArgs),
    /// Sections: what a lookup costs, and what lines of all lengths move, beside plain and paged memory
    Sections(sections::SectionsArgs),
    /// Programs for which the sections are found by themselves, beside the kernel's own swap
    Tune(tune::TuneArgs),
    /// Following pointers beside the other prefetchers: what it covers, and what it gains
    Pointers(pointers::PointersArgs),
    /// Seeing in which order a program uses its pages: what it costs, and how true its curve is
    Tracking(tracking::TrackingArgs),
    /// Two programs that share memory by what they miss, beside halves and one pool
    Balance(balance::BalanceArgs),
    /// Memory nodes across TCP on this machine, beside raw exchanges and the kernel's own swap
    Nodes(nodes::NodesArgs),
    /// Two real programs: plain, on far memory, and on the kernel's swap
    Demo(demo::DemoArgs),
    #[command(hide = true)]
    Reckon(analysis::reckon::ReckonArgs),
    #[command(hide = true)]
    Plan(tape::plan::PlanArgs),
    #[command(hide = true)]
    Workload(workload::WorkloadArgs),
    #[command(hide = true)]
    Rawfault(rawfault::RawfaultArgs),
    #[command(hide = true)]
    Warmup(warmup::WarmupArgs),
    #[command(hide = true)]
    Echo(nodes::echo::EchoArgs),
    #[command(hide = true)]
    Janitor(janitor::JanitorArgs),
}

/// Why a benchmark could not be carried out.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Failure(String);

impl Failure {
    fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }

    /// A failure that names what was being done when `error` came up.
    fn io(what: impl std::fmt::Display, error: &std::io::Error) -> Self {
        Self(format!("{what}: {error}"))
    }
}

/// Runs the chosen benchmark and prints its rows; the exit code is 0 when all of it could be carried out,
/// whether or not its goals are met.
pub fn run(args: BenchArgs) -> ExitCode {
    let BenchArgs { what, shared } = args;
    let progress = Progress::new();
    let rows = match what {
        What::Mechanisms(own) => mechanisms::run(&own, &shared, &progress),
        What::Paging(own) => paging::run(&own, &shared, &progress),
        What::Analysis(own) => analysis::run(&own, &shared, &progress),
        What::Tape(own) => tape::run(&own, &shared, &progress),
        What::Compile(own) => compile::run(&own, &shared, &progress),
        What::Hints(own) => hints::run(&own, &shared, &progress),
        What::Sections(own) => sections::run(&own, &shared, &progress),
        What::Tune(own) => tune::run(&own, &shared, &progress),
        What::Pointers(own) => pointers::run(&own, &shared, &progress),
        What::Tracking(own) => tracking::run(&own, &shared, &progress),
        What::Balance(own) => balance::run(&own, &shared, &progress),
        What::Nodes(own) => nodes::run(&own, &shared, &progress),
        What::Demo(own) => return finish(demo::run(&own, &shared, &progress)),
        What::Reckon(own) => return finish(analysis::reckon::run(&own)),
        What::Plan(own) => return finish(tape::plan::run(&own)),
        What::Workload(own) => return finish(workload::run(&own)),
        What::Rawfault(own) => return finish(rawfault::run(&own)),
        What::Warmup(own) => return finish(warmup::run(&own)),
        What::Echo(own) => return finish(nodes::echo::run(&own)),
        What::Janitor(own) => return finish(janitor::run(&own)),
    };
    progress.finish();
    let has_failed = rows.as_ref().is_ok_and(|rows| rows.iter().any(Row::has_failed));
    let code =
        finish(rows.map(|rows| if shared.json { row::json(&rows) } else { row::table(&rows) }));
    if has_failed { ExitCode::FAILURE } else { code }
}

/// Prints what a benchmark has to say and turns it into an exit code.
fn finish(outcome: Result<String, Failure>) -> ExitCode {
    match outcome {
        Ok(text) => match writeln!(std::io::stdout(), "{text}") {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(failure) => {
            let _ = writeln!(std::io::stderr(), "farside bench: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Names a row that is left out, and why, on standard error.
fn skip(work: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {work}: {why}");
}

/// One row of a benchmark, or the note that it was left out.
fn push(rows: &mut Vec<Row>, work: &str, row: Result<Row, String>) {
    match row {
        Ok(row) => rows.push(row),
        Err(why) => skip(work, &why),
    }
}
