//! `farside analyze`: what a trace tells of a program's memory.

mod find;
mod json;
mod lru;
mod place;
mod report;
pub(crate) mod screen;
mod simulate;
pub(crate) mod strip;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use farside_report::report::PlotFormat;
use farside_sim::knee::{Knee, knees};
use farside_sim::need::{Need, needs};
use farside_sim::simulation::Costs;

use crate::Failure;
use crate::output;
use find::Findings;
use lru::SampleSize;
use place::Places;
use simulate::Simulated;

/// Slowdowns for which the memory needed is told.
const SLOWDOWNS: [f64; 3] = [0.01, 0.05, 0.2];

/// The slowdown that the recommended size is for.
const RECOMMENDED: f64 = 0.05;

/// Most knees that are told.
const MOST_KNEES: usize = 4;

/// Options of `farside analyze`.
#[derive(Debug, Args)]
pub struct AnalyzeArguments {
    /// The trace.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Work of the program for each data access, in nanoseconds.
    #[arg(long, value_name = "NS", default_value_t = 1.0)]
    access_ns: f64,
    /// Write a report to look at: one file of HTML that needs nothing else.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write every plot into a directory, and a CSV file with its numbers beside it.
    #[arg(long, value_name = "DIRECTORY")]
    plots: Option<PathBuf>,
    /// Format of the plots: svg or png.
    #[arg(long, value_name = "FORMAT", default_value = "svg", requires = "plots")]
    plot_format: PlotFormat,
    /// Leave out what has to be simulated: other policies than LRU, MRU and OPT, and prefetchers.
    #[arg(long)]
    quick: bool,
    /// Make the curve of LRU from a share of the pages, such as 1%, or from at most so many, such as
    /// 8192p, and tell its error: for traces too long for the exact curve, or pages too many for memory.
    #[arg(long, value_name = "SHARE|PAGES")]
    sample: Option<SampleSize>,
    /// Print an object instead of text.
    #[arg(long)]
    json: bool,
}

/// All that was found out about a trace.
struct Analysis {
    trace: String,
    costs: Costs,
    found: Findings,
    needs: Vec<Need>,
    knees: Vec<Knee>,
    places: Places,
    /// Why policies are held against each other at the size at which they are.
    compared_why: &'static str,
    simulated: Simulated,
}

/// Analyses, and prints and writes what was found.
pub fn analyze(arguments: &AnalyzeArguments) -> Result<ExitCode, Failure> {
    let costs = Costs { access_ns: arguments.access_ns, ..Costs::default() };
    if !(arguments.access_ns > 0.0 && arguments.access_ns <= 1e9) {
        return Err(Failure::usage(format!("--access-ns {}: not a time", arguments.access_ns)));
    }
    if let Some(path) = &arguments.html {
        check_html(&arguments.trace, path)?;
    }
    let analysis = analysis(arguments, costs)?;
    if arguments.html.is_some() || arguments.plots.is_some() {
        write(arguments, &analysis)?;
    }
    if arguments.json {
        output::print(json::value(&analysis))?;
    } else {
        output::print(screen::page(&analysis, screen::Symbols::of_terminal()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn analysis(arguments: &AnalyzeArguments, costs: Costs) -> Result<Analysis, Failure> {
    let trace = arguments.trace.as_path();
    let found = find::find(trace, arguments.sample)?;
    let needs = needs(&found.lru, found.data_accesses, &costs, &SLOWDOWNS);
    let knees = knees(&found.lru, found.data_accesses, &costs, MOST_KNEES);
    let mut places = place::place(trace, &found)?;
    let footprint = found.footprint() as usize;
    let (pages, compared_why) = compared_at(footprint, &needs, &knees);
    let simulated = if arguments.quick {
        Simulated::without(pages)
    } else {
        simulate::policies_of_regions(trace, &found, &mut places)?;
        simulate::simulate(trace, &found, pages, costs)?
    };
    let trace = trace.display().to_string();
    Ok(Analysis { trace, costs, found, needs, knees, places, compared_why, simulated })
}

/// The size at which policies and prefetchers are held against each other, and what it is: the
/// recommended one, unless that is about all of the footprint, where they are all alike; then the largest
/// knee below, or half of the footprint.
fn compared_at(footprint: usize, needs: &[Need], knees: &[Knee]) -> (usize, &'static str) {
    let most = footprint / 10 * 9;
    let recommended = needs.iter().find(|need| need.slowdown == RECOMMENDED);
    if let Some(need) = recommended.filter(|need| need.pages <= most) {
        return (need.pages, "recommended");
    }
    let knee = knees.iter().rev().find(|knee| knee.pages <= most);
    knee.map_or(((footprint / 2).max(1), "half the footprint"), |knee| (knee.pages, "a knee"))
}

impl Analysis {
    /// Memory for the recommended slowdown.
    fn recommended(&self) -> usize {
        let need = self.needs.iter().find(|need| need.slowdown == RECOMMENDED);
        need.map_or(1, |need| need.pages)
    }

    /// Misses of Belady's MIN with a memory, if they are known.
    fn opt_misses(&self, pages: usize) -> Option<u64> {
        if let Some(curve) = &self.found.opt {
            return Some(curve.misses(pages));
        }
        let mut rows = self.simulated.policies.iter();
        rows.find(|row| row.replacement == simulate::OPT && row.local_pages == pages)
            .map(|row| row.misses)
    }

    /// Every policy with the misses at the compared size, the fewest first; those that know the future
    /// are left out.
    fn ranking(&self) -> Vec<(&str, u64)> {
        let pages = self.simulated.compared_pages;
        let exact = [("lru", self.found.lru.misses(pages)), ("mru", self.found.mru.misses(pages))];
        let others = self.simulated.policies.iter();
        let others =
            others.filter(|row| row.local_pages == pages && row.replacement != simulate::OPT);
        let others = others.map(|row| (row.replacement.as_str(), row.misses));
        let mut all: Vec<_> = exact.into_iter().chain(others).collect();
        all.sort_by_key(|(_, misses)| *misses);
        all
    }
}

/// Finds out before a long analysis, not behind it, that a report cannot be written.
fn check_html(trace: &Path, path: &Path) -> Result<(), Failure> {
    let refused = |why: &str| Err(Failure::usage(format!("--html {}: {why}", path.display())));
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) {
        return refused("its directory is not there");
    }
    if path.is_dir() {
        return refused("that is a directory; name a file");
    }
    let same = trace.canonicalize().ok().zip(path.canonicalize().ok());
    if same.is_some_and(|(trace, path)| trace == path) {
        return refused("that is the trace; name another file");
    }
    Ok(())
}

fn write(arguments: &AnalyzeArguments, analysis: &Analysis) -> Result<(), Failure> {
    let report = report::report(analysis);
    if let Some(path) = &arguments.html {
        let page = report.to_html().map_err(|error| Failure::own(error.to_string()))?;
        let failed = |error| Failure::own(format!("--html {}: {error}", path.display()));
        std::fs::write(path, page).map_err(failed)?;
    }
    if let Some(folder) = &arguments.plots {
        let failed = |error| Failure::own(format!("--plots: {error}"));
        report.write_plots(folder, arguments.plot_format).map_err(failed)?;
    }
    Ok(())
}
