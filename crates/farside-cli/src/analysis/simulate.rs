//! `farside simulate`: a trace under policies, prefetchers and sizes of memory.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use comfy_table::{CellAlignment, Table, presets::ASCII_MARKDOWN};
use farside_sim::simulation::{Costs, Memory, Outcome};
use farside_sim::sweep::{CLAIRVOYANT, Setup, Sweep};
use farside_trace::PAGE_SIZE;
use serde::Serialize;

use super::MemorySize;
use super::as_run::{self, FarPages};
use super::costs::costs;
use super::names::known;
use super::trace::{Footprint, read};
use crate::Failure;
use crate::options::Size;
use crate::output;
use crate::run::grouped;

/// Most simulations of one command: each takes memory for all pages of the trace.
const MOST: usize = 4096;

/// Options of `farside simulate`.
#[derive(Debug, Args)]
pub struct SimulateArguments {
    /// The trace.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Replacement policies, separated by commas.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "lru")]
    replacement: Vec<String>,
    /// Prefetchers, separated by commas.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "none")]
    prefetch: Vec<String>,
    /// Sizes of local memory, separated by commas: bytes (64M), pages (1000p) or shares of the
    /// footprint (20%).
    #[arg(long, value_name = "SIZES", value_delimiter = ',', default_value = "10%,20%,50%")]
    local: Vec<MemorySize>,
    /// Latency and bandwidth of the network.
    #[arg(long, value_name = "LATENCY,BANDWIDTH", default_value = "5us,25gbit")]
    network: String,
    /// Work of the program for each data access, in nanoseconds.
    #[arg(long, value_name = "NS", default_value_t = 1.0)]
    access_ns: f64,
    /// Most pages that a prefetcher with a window fetches at once; the lookahead of the tape.
    #[arg(long, value_name = "N", default_value_t = 64)]
    readahead: u32,
    /// Let policies see only accesses that PATH's hardware would record with a buffer of so many
    /// entries; whether a page is there is checked on every access all the same.
    #[arg(long, value_name = "ENTRIES")]
    pab: Option<usize>,
    /// Foretell what `farside run --prefetch none` would count: only the heap and private mappings,
    /// and pages come and go in batches as they do there.
    #[arg(long)]
    as_run: bool,
    /// Print an array of objects instead of a table.
    #[arg(long)]
    json: bool,
}

/// Pages from which on it is worth counting those of the trace first.
const LARGE: usize = 1 << 20;

/// One simulation as a user sees it.
#[derive(Debug, Serialize)]
struct Report {
    trace: String,
    replacement: String,
    prefetch: String,
    local_pages: usize,
    accesses: u64,
    misses: u64,
    first_touches: u64,
    demand_faults: u64,
    prefetched: u64,
    prefetch_used: u64,
    prefetch_late: u64,
    prefetch_unused: u64,
    fetched_bytes: u64,
    /// Not known of policies that know the future, nor of what is foretold of a run.
    written_bytes: Option<u64>,
    projected_time_ns: u64,
    path_time_ns: u64,
}

/// Simulates, and prints what came out.
pub fn simulate(arguments: &SimulateArguments) -> Result<ExitCode, Failure> {
    let costs = costs(&arguments.network, arguments.access_ns)?;
    let far_pages = arguments.as_run.then(|| FarPages::of(&arguments.trace)).transpose()?;
    let footprint = match &far_pages {
        Some(far_pages) => far_pages.pages(),
        None => footprint(arguments)?,
    };
    let (setups, local_pages) = setups(arguments, footprint)?;
    let (outcomes, data_accesses) = match &far_pages {
        Some(_) if arguments.pab.is_some() => {
            return Err(Failure::usage("--as-run: farside run has no --pab"));
        }
        Some(far_pages) => as_run::outcomes(&arguments.trace, far_pages, &setups, costs)?,
        None => outcomes(arguments, &setups, costs)?,
    };
    let trace = arguments.trace.display().to_string();
    let mut reports = Vec::new();
    for ((setup, local_pages), outcome) in setups.iter().zip(local_pages).zip(outcomes) {
        let path_time_ns = costs.path_time_ns(&outcome, data_accesses);
        let report = report(&trace, setup, local_pages, outcome, path_time_ns);
        let written_bytes = report.written_bytes.filter(|_| !arguments.as_run);
        reports.push(Report { written_bytes, ..report });
    }
    if arguments.json {
        output::print_json(&reports)?;
    } else {
        output::print(table(&reports))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// How many times longer the traced program takes on that network than with all its memory local, for some sizes of
/// local memory.
///
/// # Errors
/// If the trace cannot be read: exit code 2.
pub fn slowdowns(trace: &Path, network: &str) -> Result<Vec<(String, f64)>, Failure> {
    const SIZES: [&str; 4] = ["75%", "50%", "25%", "10%"];
    let local = SIZES.iter().filter_map(|size| size.parse().ok()).collect();
    let arguments = SimulateArguments {
        trace: trace.to_owned(),
        replacement: vec!["lru".into()],
        prefetch: vec!["none".into()],
        local,
        network: network.into(),
        access_ns: 1.0,
        readahead: 64,
        pab: None,
        as_run: false,
        json: false,
    };
    let costs = costs(network, arguments.access_ns)?;
    let (setups, _) = setups(&arguments, footprint(&arguments)?)?;
    let (outcomes, data_accesses) = outcomes(&arguments, &setups, costs)?;
    let alone = data_accesses.max(1) as f64 * arguments.access_ns;
    let slowdown = |outcome: &Outcome| outcome.projected_time_ns as f64 / alone;
    Ok(SIZES.iter().map(|size| (*size).to_owned()).zip(outcomes.iter().map(slowdown)).collect())
}

/// The pages that the trace touches, if a size depends on them; else 0.
fn footprint(arguments: &SimulateArguments) -> Result<u64, Failure> {
    let mut footprint = Footprint::default();
    if arguments.local.iter().any(|size| size.pages(1) > LARGE || size.is_share()) {
        read(&arguments.trace, "counting pages", |accesses| footprint.add(accesses))?;
    }
    Ok(footprint.pages())
}

/// What comes of each setup, and the number of data accesses.
fn outcomes(
    arguments: &SimulateArguments,
    setups: &[Setup],
    costs: Costs,
) -> Result<(Vec<Outcome>, u64), Failure> {
    let bad = |error: farside_sim::sweep::BadSetup| Failure::usage(format!("{error}; {}", known()));
    let mut sweep = Sweep::new(setups, costs).map_err(bad)?;
    if let Some(entries) = arguments.pab {
        let path = super::path::geometry(entries, 4, 64, 128)?;
        sweep = sweep.behind_path(path).map_err(bad)?;
    }
    read(&arguments.trace, "simulating", |accesses| sweep.feed(accesses))?;
    let data_accesses = sweep.data_accesses();
    let outcome = |(setup, outcome): (&Setup, Option<Outcome>)| {
        outcome.ok_or_else(|| {
            let trace = arguments.trace.display();
            Failure::usage(format!("{trace}: too long for {}: 2^32 accesses", setup.replacement))
        })
    };
    let outcomes = setups.iter().zip(sweep.finish()).map(outcome).collect::<Result<_, _>>()?;
    Ok((outcomes, data_accesses))
}

/// The simulations, and the pages of memory that the user gave to each. No policy is told of more than
/// the program touches, if that was counted: it sets memory aside for all it is told of.
fn setups(
    arguments: &SimulateArguments,
    footprint: u64,
) -> Result<(Vec<Setup>, Vec<usize>), Failure> {
    let touched = usize::try_from(footprint).unwrap_or(usize::MAX);
    let (mut setups, mut local_pages) = (Vec::new(), Vec::new());
    for replacement in &arguments.replacement {
        for prefetch in &arguments.prefetch {
            for size in &arguments.local {
                let pages = size.pages(footprint);
                local_pages.push(pages);
                let most = if touched > 0 { pages.min(touched) } else { pages.min(LARGE) };
                setups.push(Setup {
                    replacement: replacement.trim().to_owned(),
                    prefetch: prefetch.trim().to_owned(),
                    window: arguments.readahead.min(512),
                    memory: Memory::new(most),
                });
            }
        }
    }
    if setups.len() > MOST {
        let many = setups.len();
        return Err(Failure::usage(format!("{many} simulations at once; the most is {MOST}")));
    }
    Ok((setups, local_pages))
}

fn report(
    trace: &str,
    setup: &Setup,
    local_pages: usize,
    outcome: Outcome,
    path_time_ns: u64,
) -> Report {
    let clairvoyant = CLAIRVOYANT.iter().any(|(name, ..)| *name == setup.replacement);
    Report {
        trace: trace.to_owned(),
        replacement: setup.replacement.clone(),
        prefetch: setup.prefetch.clone(),
        local_pages,
        accesses: outcome.accesses,
        misses: outcome.misses,
        first_touches: outcome.first_touches,
        demand_faults: outcome.demand_faults(),
        prefetched: outcome.prefetched,
        prefetch_used: outcome.prefetch_used,
        prefetch_late: outcome.prefetch_late,
        prefetch_unused: outcome.prefetch_unused,
        fetched_bytes: outcome.fetched_bytes,
        written_bytes: (!clairvoyant).then_some(outcome.written_bytes),
        projected_time_ns: outcome.projected_time_ns,
        path_time_ns,
    }
}

fn table(reports: &[Report]) -> String {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    table.set_header([
        "replacement",
        "prefetch",
        "local",
        "misses",
        "of accesses",
        "prefetched",
        "used",
        "late",
        "fetched",
        "written",
        "time",
    ]);
    for report in reports {
        let share = 100.0 * report.misses as f64 / report.accesses.max(1) as f64;
        table.add_row([
            report.replacement.clone(),
            report.prefetch.clone(),
            Size((report.local_pages * PAGE_SIZE) as u64).to_string(),
            grouped(report.misses),
            format!("{share:.3} %"),
            grouped(report.prefetched),
            grouped(report.prefetch_used),
            grouped(report.prefetch_late),
            Size(report.fetched_bytes).to_string(),
            report.written_bytes.map_or_else(|| "-".into(), |bytes| Size(bytes).to_string()),
            format!("{:.3} s", report.projected_time_ns as f64 / 1e9),
        ]);
    }
    for column in 2..11 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.to_string()
}
