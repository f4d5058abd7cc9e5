//! `farside bench tape`: the programs of the 3PO paper (section 5, Table 2), recorded beside plain runs
//! and beside Valgrind's lackey, and their traces planned.
//!
//! Runs that are compared alternate, every figure is a median, and each run has to print what the
//! first plain run printed.

mod build;
pub(crate) mod plan;
mod planning;
mod programs;
mod runs;
mod sweep;
mod tracing;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::progress::Progress;
use super::row::Row;
use super::{Failure, Shared, skip};
use build::Cache;
use programs::{Name, Ready, Scale};
use runs::Runs;

/// Pages in a microset, as the paper chose it.
const MICROSET: usize = 1024;

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
    /// Record and plan with microsets of 2 to 65,536 pages, and draw tracing time and size of tapes
    /// into this directory; without --only nothing else is done
    #[arg(long, value_name = "DIRECTORY")]
    sweep: Option<PathBuf>,
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
}

/// A tape benchmark under way.
struct Bench<'a> {
    args: &'a TapeArgs,
    runs: Runs<'a>,
    programs: Vec<Ready>,
    rows: Vec<Row>,
}

/// Measures the whole table, or the parts asked for.
pub(crate) fn run(
    args: &TapeArgs,
    shared: &Shared,
    progress: &Progress,
) -> Result<Vec<Row>, Failure> {
    let cache = match &args.cache {
        Some(directory) => Cache::at(directory.clone()),
        None => Cache::of_user()?,
    };
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
    let mut bench = Bench { args, runs, programs, rows: Vec::new() };
    if bench.wants(Section::Tracing) {
        bench.tracing()?;
    }
    if bench.wants(Section::Lackey) {
        bench.beside_lackey()?;
    }
    if bench.wants(Section::Planning) {
        bench.planning()?;
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
