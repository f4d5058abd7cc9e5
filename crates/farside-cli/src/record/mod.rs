//! `farside record`: which pages a program uses, in which order, in microsets (3PO, section 3.1).

mod writer;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use farside_pager::Recording;
use farside_pager::settings::MOST_MICROSET;
use farside_trace::Metadata;
use serde_json::json;

pub use writer::{Recorded, Writer};

use crate::Failure;
use crate::options::{Local, MAX_SIZE, Options};
use crate::run;
use crate::tapes::build_id;

/// Pages in a microset, as the paper chose it.
const MICROSET: usize = 1024;

/// Options of `farside record`, besides those of `farside run`.
#[derive(Debug, Args)]
pub struct RecordArguments {
    /// Most pages that are taken to be used at once: with more, recording is faster and the trace smaller; the
    /// order of the pages among them is not noted.
    #[arg(long, value_name = "PAGES", default_value_t = MICROSET, value_parser = microset)]
    microset: usize,
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
they belong. What is not: stacks, code, the program's own variables, child processes. All of the program's
memory is local meanwhile.

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

/// Records a program, and ends as it ended.
pub fn record(arguments: &RecordArguments, mut options: Options) -> Result<ExitCode, Failure> {
    let how = Recording { microset: arguments.microset, exact: arguments.exact };
    options.quiet |= arguments.quiet;
    options.record = Some(how);
    options.local.get_or_insert(Local::Bytes(MAX_SIZE));
    // What a prefetcher maps would not fault.
    options.prefetch = "none".to_owned();
    let program = run::check(&arguments.command)?;
    let writer = Writer::new(&arguments.output, metadata(how, &program, &arguments.command))
        .map_err(|error| Failure::usage(error.to_string()))?;
    run::run_recorded(&options, &arguments.command, writer, &arguments.output)
}

/// What is known beforehand of the trace of `command`, whose program is the file at `path`.
fn metadata(how: Recording, path: &Path, command: &[OsString]) -> Metadata {
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
        match &self.problem {
            None => format!("farside: recorded {pages} pages{threads} in {trace}"),
            Some(problem) => {
                format!("farside: {trace} holds the first {pages} pages only: {problem}")
            }
        }
    }
}
