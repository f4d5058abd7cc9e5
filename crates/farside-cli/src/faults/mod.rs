//! `farside faults`: where in a program its faults come from (Eden, section 3 and appendix).

mod distinct;
mod findings;
mod followed;
mod hints;
mod json;
mod own_code;
mod page;
mod pattern;
mod pending;
mod pointers;
mod samples;
mod screen;
mod sites;
mod stacks;
mod suggest;
mod tally;
mod watcher;
mod words;

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use farside_os::fault_events;
use farside_os::memory::PAGE;
use farside_pager::LogFaults;
use farside_policy::prefetch::Choice;
use farside_wire::fault_log::Answer;

pub use watcher::{Watched, Watcher};

use crate::Failure;
use crate::options::{Given, Layer, Options, Origin};
use crate::run;
use findings::Findings;

/// Options of `farside faults`.
#[derive(Debug, Args)]
pub struct FaultsArguments {
    /// Most memory of the program that may be resident: a size (400M, 1.5GiB) or a percentage of its peak footprint
    /// (25%).
    #[arg(long, value_name = "SIZE|PERCENT")]
    local: Option<String>,
    /// Where far pages lie, as for farside run.
    #[arg(long, value_name = "URL")]
    far: Option<String>,
    /// Which pages leave first.
    #[arg(long, value_name = "NAME")]
    replacement: Option<String>,
    /// Which pages are fetched before they are asked for. Without it none are: the sites are those that have to wait if
    /// nobody foresees anything.
    #[arg(long, value_name = "NAME")]
    prefetch: Option<String>,
    /// Read settings from a TOML file.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Which faults to look at: those on far pages, on far pages that were on their way, on pages without content, on
    /// pages mapped for reading, on pages unmapped to see whether they are used [default: all but the last].
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    kinds: Vec<KindName>,
    /// Show what came of each hint that the program gives (farside.h), too, and which of them are in vain. Every hint is
    /// looked at, which takes much longer.
    #[arg(long)]
    hints: bool,
    /// Decide which demand faults are pointer-based: at an address that the program had loaded from memory, as the next
    /// node of a list, and not computed, as the next element of an array. Also shows how many of these and of the others
    /// each prefetcher would have foreseen. Nothing is fetched ahead, so that all of them are seen.
    #[arg(long, conflicts_with = "prefetch")]
    pointers: bool,
    /// Sites in the table.
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// Print an object instead of a table.
    #[arg(long)]
    json: bool,
    /// Write the table, or the object, to a file instead of stderr.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write a page with an interactive flame graph and the table.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write stacks as lines of text, as flame graph programs read them.
    #[arg(long, value_name = "FILE")]
    folded: Option<PathBuf>,
    /// Write a profile for speedscope.
    #[arg(long, value_name = "FILE")]
    speedscope: Option<PathBuf>,
    /// Write a profile for pprof.
    #[arg(long, value_name = "FILE")]
    pprof: Option<PathBuf>,
    /// No summary of the run.
    #[arg(long, short)]
    quiet: bool,
    /// The program and its arguments.
    #[arg(
        required = true,
        trailing_var_arg = true,
        value_names = ["PROGRAM", "ARGUMENTS"],
        num_args = 1..,
    )]
    command: Vec<OsString>,
}

/// Names of [`Answer`]s.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum KindName {
    Demand,
    Late,
    FirstTouch,
    Protection,
    Unmapped,
}

impl KindName {
    fn answer(self) -> Answer {
        match self {
            Self::Demand => Answer::Demand,
            Self::Late => Answer::Late,
            Self::FirstTouch => Answer::FirstTouch,
            Self::Protection => Answer::Protection,
            Self::Unmapped => Answer::Unmapped,
        }
    }
}

/// Printed after the options.
pub const HELP: &str = "\
What is shown: the faults of the program itself, and of what it becomes by exec; not those of its child processes.
Pages that it gives hints at (farside.h) do not fault: under hints, what is shown is what is not yet hinted.

Lines need debugging information (-g); without it, functions and addresses are shown. A fault in a library of the
system, as in memcpy, is shown where the program called it. The kernel tells of each fault; that needs root, or
kernel.perf_event_paranoid of 2 or less, and each fault takes a tenth to a fifth longer. Where that is refused, the
instructions of faults are looked up one by one, which takes twice as long, and callers are not known.

With --pointers the program's machine code decides, once for each site: from the instruction back to where its address
comes from, through loops and callers. In a loop, what changes from round to round counts. The registers at each fault
check it; where they say something else, and where the code does not tell, the faults count as undecided. Code that a
program makes for itself is not decided.

Exit codes:
  2    the command line makes no sense; nothing was started
  125  Farside itself failed
  126  the program cannot be executed
  127  there is no such program
  else that of the program; if a signal killed it, farside dies by the same signal";

impl FaultsArguments {
    fn options(&self) -> Result<Options, Failure> {
        let given = |text: &Option<String>, option| {
            text.clone().map(|text| Given { text, origin: Origin::Option(option) })
        };
        let layer = Layer {
            local: given(&self.local, "--local"),
            far: given(&self.far, "--far"),
            replacement: given(&self.replacement, "--replacement"),
            prefetch: given(&self.prefetch, "--prefetch"),
            ..Layer::default()
        };
        let mut options = Options::gather(layer, self.config.clone())?;
        options.quiet |= self.quiet;
        if self.prefetch.is_none() {
            options.prefetch = "none".to_owned();
        }
        // Whether what a hint or a pointer reads ahead is used is seen by a fault of its own.
        options.exact_prefetch_count |= self.hints || self.follows_pointers(&options.prefetch);
        options.log_faults =
            Some(LogFaults { instructions: fault_events::allowed().is_err(), hints: self.hints });
        Ok(options)
    }

    /// Whether a prefetcher that was asked for follows pointers.
    fn follows_pointers(&self, prefetch: &str) -> bool {
        self.prefetch.is_some()
            && prefetch.parse::<Choice>().is_ok_and(|choice| choice.pointers.is_some())
    }

    fn wanted(&self, answer: Answer) -> bool {
        match self.kinds.is_empty() {
            true => answer != Answer::Unmapped,
            false => self.kinds.iter().any(|kind| kind.answer() == answer),
        }
    }

    fn files(&self) -> impl Iterator<Item = &Path> {
        let files = [&self.output, &self.html, &self.folded, &self.speedscope, &self.pprof];
        files.into_iter().flatten().map(PathBuf::as_path)
    }
}

/// Runs a program and tells where its faults came from, and ends as it ended.
pub fn faults(arguments: &FaultsArguments) -> Result<ExitCode, Failure> {
    let options = arguments.options()?;
    run::check(&arguments.command)?;
    for file in arguments.files() {
        run::writable(file)?;
    }
    let ahead = options.readahead;
    let watcher = Watcher::new(arguments.pointers)?;
    run::run_watched(&options, &arguments.command, watcher, |watched, report| {
        let words = arguments.command.iter().map(|word| word.to_string_lossy());
        let title = words.collect::<Vec<_>>().join(" ");
        let wanted = |answer| arguments.wanted(answer);
        let local = report.counter("resident_peak_bytes") / PAGE as u64;
        let findings = Findings::new(&watched, &wanted, title, local, ahead);
        if let Err(problem) = show(arguments, &findings) {
            run::complain(&problem);
        }
    })
}

/// Writes all that was asked for; the error is a line for the user.
fn show(arguments: &FaultsArguments, findings: &Findings) -> Result<(), String> {
    let text = match arguments.json {
        true => format!("{:#}\n", json::of(findings)),
        false => screen::text(findings, arguments.top),
    };
    match &arguments.output {
        Some(path) => write(path, text.as_bytes())?,
        // Nobody is left to tell if stderr is closed.
        None => drop(std::io::stderr().write_all(text.as_bytes())),
    }
    let stacks = &findings.stacks;
    if let Some(path) = &arguments.html {
        let page = page::report(findings).to_html().map_err(|error| error.to_string())?;
        write(path, page.as_bytes())?;
    }
    if let Some(path) = &arguments.folded {
        write(path, stacks.to_folded().as_bytes())?;
    }
    if let Some(path) = &arguments.speedscope {
        write(path, stacks.to_speedscope().as_bytes())?;
    }
    if let Some(path) = &arguments.pprof {
        write(path, &stacks.to_pprof().map_err(|error| error.to_string())?)?;
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
