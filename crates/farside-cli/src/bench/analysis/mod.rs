//! `farside bench analysis`: curves and simulations beside other ways to compute them, and captures
//! beside plain runs.
//!
//! Every computation runs in a process of its own, on one thread; partners alternate, and every figure
//! is a median. Curves are timed from page numbers in memory, simulations from a file.

mod capture;
mod curves;
mod partner;
pub(crate) mod reckon;
mod references;
mod simulation;
mod synthetic;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::launch::{Place, Program, Scratch, own};
use super::row::Row;
use super::{Failure, Shared};
use crate::progress::Progress;
use reckon::{Method, Reckoned};
use synthetic::Synthetic;

/// Options of `farside bench analysis`.
#[derive(Debug, Args)]
pub(crate) struct AnalysisArgs {
    /// References of the synthetic traces, in millions
    #[arg(long, default_value_t = 10, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=400))]
    millions: u32,
    /// A Python with the package libcachesim
    #[arg(long, value_name = "FILE", env = "FARSIDE_BENCH_PYTHON", default_value = "python3")]
    python: PathBuf,
    /// Only these parts of the table
    #[arg(long, value_enum)]
    only: Vec<Section>,
}

/// A part of the table that can be asked for by itself.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum Section {
    /// Miss-rate curves beside reference algorithms.
    Curves,
    /// Policies beside libCacheSim.
    Simulation,
    /// Captures beside plain runs and Valgrind.
    Capture,
}

/// An analysis benchmark under way.
struct Bench<'a> {
    args: &'a AnalysisArgs,
    shared: &'a Shared,
    progress: &'a Progress,
    scratch: Scratch,
    rows: Vec<Row>,
}

/// Measures the whole table, or the parts asked for.
pub(crate) fn run(
    args: &AnalysisArgs,
    shared: &Shared,
    progress: &Progress,
) -> Result<Vec<Row>, Failure> {
    let scratch = Scratch::new()?;
    let mut bench = Bench { args, shared, progress, scratch, rows: Vec::new() };
    if bench.wants(Section::Curves) {
        bench.curves()?;
    }
    if bench.wants(Section::Simulation) {
        bench.simulations()?;
    }
    if bench.wants(Section::Capture) {
        bench.captures()?;
    }
    Ok(bench.rows)
}

impl Bench<'_> {
    fn wants(&self, section: Section) -> bool {
        self.args.only.is_empty() || self.args.only.contains(&section)
    }

    fn references(&self) -> usize {
        self.args.millions as usize * 1_000_000
    }

    /// The file with a synthetic trace.
    fn trace(&self, synthetic: Synthetic) -> Result<PathBuf, Failure> {
        self.trace_of(synthetic, self.references())
    }

    /// The file with one of so many references, made if it is not there yet.
    fn trace_of(&self, synthetic: Synthetic, references: usize) -> Result<PathBuf, Failure> {
        let name = synthetic.name(references);
        let path = self.scratch.join(&format!("{name}.u64"));
        if !path.exists() {
            self.progress.say(format!("making {name}"));
            synthetic::write(synthetic.pages(references), &path)?;
        }
        Ok(path)
    }

    /// Carries out one computation; also tells how far its memory grew, in bytes.
    fn reckon(
        &self,
        trace: &Path,
        by: Method,
        policy: &str,
        pages: &[usize],
    ) -> Result<(Reckoned, u64), Failure> {
        let pages: Vec<_> = pages.iter().map(usize::to_string).collect();
        let mut argv = vec![own()?.into_os_string(), "bench".into(), "reckon".into()];
        argv.extend([trace.into(), "--by".into(), by.name().into()]);
        argv.extend(["--policy".into(), policy.into()]);
        if !pages.is_empty() {
            argv.extend(["--pages".into(), pages.join(",").into()]);
        }
        let outcome = Program::new(argv).run(Place::Plain, self.shared, &self.scratch)?;
        let found: Reckoned = serde_json::from_slice(&outcome.stdout.head)
            .map_err(|e| Failure::new(format!("a computation answered nonsense: {e}")))?;
        let grown = outcome.peak_resident.saturating_sub(found.resident_before);
        Ok((found, grown))
    }
}
