//! `farside record`: which pages a program uses, in which order, in microsets (3PO, section 3.1).

mod fit;
mod writer;

use std::ffi::OsString;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use farside_pager::Recording;
use farside_pager::settings::{MICROSET, MOST_MICROSET};
use farside_trace::Metadata;
use serde_json::json;

pub use fit::{largest, local_pages};
pub use writer::{Recorded, Writer};

use crate::Failure;
use crate::options::{Given, Layer, Local, MAX_SIZE, Options, Origin};
use crate::run;
use crate::tapes::build_id;

/// Options of `farside record`, besides those of `farside run`.
#[derive(Debug, Args)]
pub struct RecordArguments {
    /// Most pages that are taken to be used at once: with more, recording is faster and the trace smaller; the
    /// order of the pages among them is not noted. Without it, 1024 if that fits twice into the local memory, and more
    /// while a program with one thread comes back to more pages than that again and again.
    #[arg(long, value_name = "PAGES", value_parser = microset)]
    microset: Option<usize>,
    /// Most memory of the program that may be resident meanwhile: a size (400M) or a percentage of its peak
    /// footprint (25%). Without it all is, which is faster; the trace hardly differs, with --exact not at all.
    #[arg(long, value_name = "SIZE|PERCENT")]
    local: Option<String>,
    /// Where far pages lie, as for farside run.
    #[arg(long, value_name = "URL")]
    far: Option<String>,
    /// Read settings from a TOML file.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Note each page by a fault of its own. Otherwise a thread that goes through memory page by page is
    /// followed in runs of up to a sixteenth of a microset, whose last pages it may not have used.
    #[arg(long)]
    exact: bool,
    /// The trace to write; an existing file is replaced.
    #[arg(long, short, value_name = "TRACE")]
    output: PathBuf,
    /// No summary at the end.
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

/// Printed after the options.
pub const HELP: &str = "\
What is noted: the pages of memory that the program allocates and maps, by thread, and to which allocation
they belong. What is not: stacks, code, the program's own variables, child processes. Of a program that has
parts (farside.h) the first part is noted, and nothing else; with FARSIDE_PARTS=0 in the environment, all.

Settings are taken from the options, else from the environment (FARSIDE_LOCAL, FARSIDE_FAR and the others of
farside run), else from the file named by --config or FARSIDE_CONFIG.

Exit codes:
  2    the command line makes no sense; nothing was started
  125  Farside itself failed
  126  the program cannot be executed
  127  there is no such program
  else that of the program; if a signal killed it, farside dies by the same signal";

fn microset(text: &str) -> Result<usize, String> {
    let pages = text.parse().ok().filter(|pages| (1..=MOST_MICROSET).contains(pages));
    pages.ok_or_else(|| format!("'{text}' is no number from 1 to {MOST_MICROSET}"))
}

impl RecordArguments {
    /// The settings of the run.
    ///
    /// # Errors
    /// If one makes no sense: exit code 2.
    pub fn options(&self) -> Result<Options, Failure> {
        let given = |text: &Option<String>, option| {
            text.clone().map(|text| Given { text, origin: Origin::Option(option) })
        };
        let layer = Layer {
            local: given(&self.local, "--local"),
            far: given(&self.far, "--far"),
            ..Layer::default()
        };
        let mut options = Options::gather(layer, self.config.clone())?;
        options.quiet |= self.quiet;
        options.local.get_or_insert(Local::Bytes(MAX_SIZE));
        Ok(options)
    }

    /// Pages in a microset of a run under that limit.
    fn microset(&self, limit: &run::ChosenLimit, quiet: bool) -> Result<usize, Failure> {
        let pages = local_pages(limit.for_process());
        let largest = largest(pages);
        match self.microset {
            Some(asked) if fit::fits(asked, pages) => Ok(asked),
            Some(asked) => Err(Failure::usage(format!(
                "--microset {asked}: two do not fit into the local memory of the run; the most that does well \
                 is --microset {largest}, or give it more with --local"
            ))),
            None => {
                if largest < MICROSET && !quiet {
                    run::complain(&format!(
                        "recording in microsets of {largest} pages, as larger ones do not fit into local memory"
                    ));
                }
                Ok(largest)
            }
        }
    }
}

/// Has the program under these settings recorded.
pub fn set_up(options: &mut Options, how: Recording) {
    options.record = Some(how);
    // What a prefetcher maps would not fault.
    options.prefetch = "none".to_owned();
}

/// Records a program, and ends as it ended.
pub fn record(arguments: &RecordArguments) -> Result<ExitCode, Failure> {
    refuse_pipe(&arguments.output)?;
    let mut options = arguments.options()?;
    let program = run::check(&arguments.command)?;
    let limit = run::limit_of(options.local, &program, &arguments.command[1..]);
    let microset = arguments.microset(&limit, options.quiet)?;
    let grows = arguments.microset.is_none() && !arguments.exact;
    let how = Recording { microset, exact: arguments.exact, grows };
    set_up(&mut options, how);
    let trace = &arguments.output;
    let writer = Writer::new(trace, metadata(how, &program, &arguments.command))
        .map_err(|error| Failure::usage(error.to_string()))?;
    run::run_recorded(&options, &arguments.command, writer, |recorded, _| {
        if !options.quiet || recorded.problem.is_some() {
            eprintln!("{}", recorded.describe(trace));
        }
    })
}

/// Refuses a trace that would go into a pipe: its beginning is written again when microsets grow, and when the program
/// becomes another one.
fn refuse_pipe(path: &Path) -> Result<(), Failure> {
    match path.metadata() {
        Ok(there) if there.file_type().is_fifo() => Err(Failure::usage(format!(
            "{}: a trace cannot be recorded into a pipe; name a file",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// What is known beforehand of the trace of `command`, whose program is the file at `path`.
pub fn metadata(how: Recording, path: &Path, command: &[OsString]) -> Metadata {
    // What can be executed but not read has none.
    let build_id = build_id(path).ok().map(|id| ("build_id".to_owned(), json!(id)));
    let mut command = command.iter().map(|argument| argument.to_string_lossy().into_owned());
    let program = command.next();
    Metadata {
        program,
        arguments: command.collect(),
        tool: Some("farside record".into()),
        merged: true,
        other: [
            ("microset".to_owned(), json!(how.microset)),
            ("exact".to_owned(), json!(how.exact)),
        ]
        .into_iter()
        .chain(build_id)
        .collect(),
        ..Metadata::default()
    }
}

impl Recorded {
    /// A line for people about the trace at `path`.
    pub fn describe(&self, path: &Path) -> String {
        let trace = path.display();
        let pages = run::grouped(self.summary.accesses);
        let threads =
            if self.threads > 1 { format!(" of {} threads", self.threads) } else { String::new() };
        let microsets = self.grown.map_or(String::new(), |grown| {
            format!(", in microsets of up to {}", run::grouped(u64::from(grown)))
        });
        match &self.problem {
            None => format!("farside: recorded {pages} pages{threads}{microsets} in {trace}"),
            Some(problem) => {
                format!("farside: {trace} holds the first {pages} pages only: {problem}")
            }
        }
    }
}
