//! `farside path`: what PATH's hardware would make of a trace.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use farside_sim::path::{Fnv1a, Geometry, Path, SpacePage};
use serde::Serialize;

use super::trace::read;
use crate::Failure;
use crate::output;

/// Options of `farside path`.
#[derive(Debug, Args)]
pub struct PathArguments {
    /// The trace.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Entries of the page access buffer.
    #[arg(long, value_name = "ENTRIES", default_value_t = 2048)]
    pab: usize,
    /// Entries in a set of the buffer.
    #[arg(long, value_name = "ENTRIES", default_value_t = 4)]
    ways: usize,
    /// Entries of the associative filter; 0 for none.
    #[arg(long, value_name = "ENTRIES", default_value_t = 64)]
    filter: usize,
    /// Entries of the page access log.
    #[arg(long, value_name = "ENTRIES", default_value_t = 128)]
    pal: usize,
    /// Entries of the translation buffer in front, fully associative; 0 if the trace consists of its
    /// misses.
    #[arg(long, value_name = "ENTRIES", default_value_t = 0)]
    tlb: usize,
    /// Print an object instead of text.
    #[arg(long)]
    json: bool,
}

/// The counts, under the names of the reference tables.
#[derive(Debug, Serialize)]
struct Report {
    trace: String,
    pab_sets: usize,
    pab_ways: usize,
    filter_entries: usize,
    pal_entries: usize,
    refs: u64,
    tlb_misses: u64,
    pab_misses: u64,
    recorded: u64,
    overflows: u64,
    fnv1a64_of_recorded_pages: String,
}

/// The most entries of any buffer: what is sensible, and what fits.
const MOST_ENTRIES: usize = 1 << 24;

/// Sizes of the hardware.
///
/// # Errors
/// If it cannot be built.
pub fn geometry(pab: usize, ways: usize, filter: usize, pal: usize) -> Result<Geometry, Failure> {
    for (option, entries) in [("pab", pab), ("filter", filter), ("pal", pal)] {
        if entries > MOST_ENTRIES {
            return Err(Failure::usage(format!("--{option} {entries}: at most {MOST_ENTRIES}")));
        }
    }
    let bad = |error: farside_sim::path::BadGeometry| Failure::usage(error.to_string());
    let geometry = Geometry { filter, ..Geometry::default() };
    geometry.with_buffer(pab, ways).and_then(|geometry| geometry.with_log(pal)).map_err(bad)
}

/// Counts, and prints what came out.
pub fn path(arguments: &PathArguments) -> Result<ExitCode, Failure> {
    let geometry = geometry(arguments.pab, arguments.ways, arguments.filter, arguments.pal)?;
    let geometry = Geometry { tlb: arguments.tlb.min(MOST_ENTRIES), ..geometry };
    let mut path = Path::new(geometry);
    let mut hash = Fnv1a::new();
    read(&arguments.trace, "counting", |accesses| {
        for access in accesses {
            path.access(SpacePage { space: 0, page: access.page }, |entries| {
                entries.iter().for_each(|entry| hash.add(*entry));
            });
        }
    })?;
    path.pending().iter().for_each(|entry| hash.add(*entry));
    let counts = path.counts();
    let report = Report {
        trace: arguments.trace.display().to_string(),
        pab_sets: geometry.sets,
        pab_ways: geometry.ways,
        filter_entries: geometry.filter,
        pal_entries: geometry.log,
        refs: counts.references,
        tlb_misses: counts.tlb_misses,
        pab_misses: counts.buffer_misses,
        recorded: counts.recorded,
        overflows: counts.overflows,
        fnv1a64_of_recorded_pages: format!("{:016x}", hash.value()),
    };
    if arguments.json {
        output::print_json(&report)?;
    } else {
        output::print(text(&report))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn text(report: &Report) -> String {
    let share = |part: u64| 100.0 * part as f64 / report.refs.max(1) as f64;
    format!(
        "accesses          {:>14}\n\
         TLB misses        {:>14}  {:6.2} %\n\
         buffer misses     {:>14}  {:6.2} %\n\
         recorded          {:>14}  {:6.2} %\n\
         log overflows     {:>14}",
        report.refs,
        report.tlb_misses,
        share(report.tlb_misses),
        report.pab_misses,
        share(report.pab_misses),
        report.recorded,
        share(report.recorded),
        report.overflows
    )
}
