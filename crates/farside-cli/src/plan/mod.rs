//! `farside plan`: from a trace to tapes for sizes of memory (3PO, section 3.2).

mod make;
mod names;
mod report;
mod writing;

use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use clap::Args;
use farside_sim::plan::PlanPolicy;

pub use make::{How, Planned, Surveyed, Wanted, plan_tapes, survey};
pub use names::tape_paths;
use report::Report;

use crate::Failure;
use crate::analysis::MemorySize;
use crate::output;
use crate::run::complain;

/// Most sizes at once: a plan and a file is kept for each.
const MOST_SIZES: usize = 64;

/// Printed after the options.
pub const HELP: &str = "\
What is planned: with the local memory of a run, the lookahead and a batch of pages are on their way or about
to leave. The tape is planned for the rest, but for a quarter of the local memory at least. Threads get equal
shares of it.

Where tapes go: to TRACE with the ending .tape; with several sizes to one file for each, named after the size
too (sort-20pct.tape). -o names another file, or a directory for them, made if it is not there. In the name of
a file, % stands for the size: -o 'sort-%.tape'.

Exit codes:
  2    the command line or the trace makes no sense
  125  Farside itself failed, or the disk is full";

/// Options of `farside plan`.
#[derive(Debug, Args)]
pub struct PlanArguments {
    /// The trace, from `farside record`.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Local memory of the run, or several sizes separated by commas: bytes (64M), pages (1000p), or shares
    /// of the most memory that the trace uses at one time (20%).
    #[arg(long, value_name = "SIZES", value_delimiter = ',', default_value = "20%")]
    local: Vec<NamedSize>,
    /// Which pages leave: those that are used last of all (min), or were used longest ago (lru).
    #[arg(long, value_name = "min|lru", default_value = "min", value_parser = policy)]
    policy: PlanPolicy,
    /// Pages that the run fetches ahead of the program.
    #[arg(long, value_name = "PAGES", default_value_t = 400, value_parser = pages)]
    lookahead: u64,
    /// Pages that the run fetches at once.
    #[arg(long, value_name = "PAGES", default_value_t = 100, value_parser = pages)]
    batch: u64,
    /// The tape to write, a directory, or a name with % for the size; an existing file is replaced.
    #[arg(long, short, value_name = "TAPE")]
    output: Option<PathBuf>,
    /// Print an object instead of a table.
    #[arg(long)]
    json: bool,
    /// No table and no warnings.
    #[arg(long, short)]
    quiet: bool,
}

fn policy(text: &str) -> Result<PlanPolicy, String> {
    PlanPolicy::by_name(text).ok_or_else(|| "there are min and lru".to_owned())
}

/// Most pages that can be given: 4 TiB.
const MOST_PAGES: u64 = 1 << 30;

/// Reads a number of pages for `--lookahead` or `--batch`.
///
/// # Errors
/// If it is none, or too large.
pub fn pages(text: &str) -> Result<u64, String> {
    let pages = text.parse().ok().filter(|pages| (1..=MOST_PAGES).contains(pages));
    pages.ok_or_else(|| format!("no number from 1 to {MOST_PAGES}"))
}

/// A size with its name in the names of files.
#[derive(Clone, Debug, PartialEq)]
struct NamedSize {
    size: MemorySize,
    name: String,
}

impl FromStr for NamedSize {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = text.split_whitespace().collect::<String>().replace('%', "pct");
        Ok(Self { size: text.parse()?, name })
    }
}

/// Plans, and prints what came out.
pub fn plan(arguments: &PlanArguments) -> Result<ExitCode, Failure> {
    let sizes = &arguments.local;
    if sizes.len() > MOST_SIZES {
        let many = sizes.len();
        return Err(Failure::usage(format!(
            "--local: {many} sizes at once; the most is {MOST_SIZES}"
        )));
    }
    let names: Vec<_> = sizes.iter().map(|size| size.name.as_str()).collect();
    let tapes = tape_paths(&arguments.trace, arguments.output.as_deref(), &names)?;
    let how =
        How { policy: arguments.policy, lookahead: arguments.lookahead, batch: arguments.batch };
    let surveyed = survey(&arguments.trace)?;
    if !surveyed.is_recorded() && !arguments.quiet {
        let trace = arguments.trace.display();
        complain(&format!("{trace} is not from 'farside record': no run can follow its tape"));
    }
    let wanted: Vec<_> = sizes
        .iter()
        .zip(tapes)
        .map(|(size, tape)| Wanted {
            local_pages: size.size.pages(surveyed.footprint.peak) as u64,
            tape,
        })
        .collect();
    let planned = plan_tapes(&arguments.trace, &surveyed, &how, &wanted)?;
    let report = Report::new(&arguments.trace, &surveyed, &how, &planned);
    if arguments.json {
        output::print_json(&report)?;
    } else if !arguments.quiet {
        output::print(&report)?;
    }
    Ok(ExitCode::SUCCESS)
}
