//! `farside capture`: every data access of an unmodified program, page by page, in order.
//!
//! The program runs under an emulator whose plugin (`capture/` in the sources) tells of each access
//! through shared memory; this process puts what the threads tell into one order and writes the trace.

mod emulator;
mod filter;
pub mod order;
mod page_set;
mod recorder;
mod space;
pub mod stream;
mod summary;
mod supervisor;
mod tlb;
mod writer;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use farside_trace::{BlockWriter, Metadata, TraceError};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};

pub use filter::{Filter, Sizes};
pub use summary::Summary;

use crate::Failure;
use crate::run::{Ending, Launch, Signals, complain, die_by, find};
use emulator::{Emulator, image};
use recorder::Recorder;
use stream::Stream;
use supervisor::Supervisor;
use tlb::Tlb;
use writer::Writer;

/// Options of `farside capture`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The trace to write, in Farside's own format; an existing file is replaced.
    #[arg(long, short, value_name = "TRACE")]
    output: PathBuf,
    /// Keep only what misses a translation buffer of so many entries, fully associative, and the
    /// first write to a page in it; the weights of the others are added to the next one that is kept.
    #[arg(long, value_name = "ENTRIES", value_parser = tlb_entries)]
    tlb: Option<usize>,
    /// Keep only what PATH's hardware would record: a page access buffer of so many entries, and a
    /// small LRU filter behind it.
    #[arg(long, value_name = "ENTRIES[,ways=4][,filter=64]")]
    pab: Option<Sizes>,
    /// The processor to emulate, as QEMU names it; `max` has everything but AVX-512.
    #[arg(long, value_name = "MODEL", default_value = "max")]
    cpu: String,
    /// No summary at the end.
    #[arg(long, short)]
    quiet: bool,
    /// Print the summary as a JSON object.
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
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
What is seen: every load and store of the program's instructions, its threads told apart. Accesses of
a thread to one page without another page between them are one record with their number as its weight.
What is not: instruction fetches, what the kernel reads and writes for the program (read, write), child
processes, and what the program becomes by exec. The emulated processor has no AVX-512.

Exit codes:
  2    the command line makes no sense, the program cannot be captured, or qemu-user is missing
  125  Farside itself failed; the trace holds what was captured until then
  126  the program cannot be executed
  127  there is no such program
  else that of the program; if a signal killed it, farside dies by the same signal";

fn tlb_entries(text: &str) -> Result<usize, String> {
    let entries = text.parse().ok().filter(|entries| (1..=tlb::MOST_ENTRIES).contains(entries));
    entries.ok_or(format!("'{text}' is no number from 1 to {}", tlb::MOST_ENTRIES))
}

/// Captures a program, and ends as it ended.
pub fn capture(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Some((name, rest)) = arguments.command.split_first() else {
        return Err(Failure::usage("no program given"));
    };
    let search = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let image = image(&find(name, &search)?, name)?;
    let emulator = Emulator::find(&arguments.cpu)?;
    let writer = BlockWriter::create(&arguments.output, &metadata(arguments))
        .map_err(|error| Failure::usage(error.to_string()))?;
    let stream = Stream::new().map_err(|error| Failure::own(error.to_string()))?;
    let signals = Signals::take()
        .map_err(|error| Failure::own(format!("cannot take over signals: {error}")))?;

    // The thread that it starts must not be asked to handle signals.
    let writer = Writer::new(writer)
        .map_err(|error| Failure::own(format!("cannot start a thread: {error}")))?;
    let recorder =
        Recorder::new(writer, arguments.tlb.map(Tlb::new), arguments.pab.map(Filter::new));
    let started = Instant::now();
    let emulated = emulator.arguments(&image, stream.descriptor(), rest);
    let path = emulator.file();
    let launch =
        Launch { path, name: path.as_os_str(), arguments: &emulated, environment: Vec::new() };
    let program = {
        let _inherited = Inherited::new(&stream)?;
        launch.spawn(signals.inherited())?
    };
    let mut supervisor = Supervisor::new(signals, program, &stream, recorder);
    let summary = Summary {
        program: name.to_string_lossy().into_owned(),
        trace: arguments.output.display().to_string(),
        ..Summary::default()
    };
    let ending = supervisor.run(&summary.program)?;
    let recorder = supervisor.into_recorder();
    if !stream.attached() {
        return Err(Failure::own("the emulator could not load its plugin; what it said is above"));
    }
    conclude(arguments, summary, ending, &stream, recorder, started)
}

fn metadata(arguments: &Arguments) -> Metadata {
    let text = |argument: &OsString| argument.to_string_lossy().into_owned();
    let mut command = arguments.command.iter().map(text);
    let tlb = arguments.tlb.map(Tlb::described);
    let path = arguments.pab.map(|sizes| sizes.described());
    Metadata {
        program: command.next(),
        arguments: command.collect(),
        tool: Some(format!("farside capture {}", env!("CARGO_PKG_VERSION"))),
        merged: true,
        filters: tlb.into_iter().chain(path.into_iter().flatten()).collect(),
        ..Metadata::default()
    }
}

/// While it lives, a started program inherits the descriptor of the stream.
struct Inherited<'a>(&'a Stream);

impl<'a> Inherited<'a> {
    fn new(stream: &'a Stream) -> Result<Self, Failure> {
        fcntl(stream.descriptor(), FcntlArg::F_SETFD(FdFlag::empty()))
            .map_err(|error| Failure::own(format!("cannot pass on a descriptor: {error}")))?;
        Ok(Self(stream))
    }
}

impl Drop for Inherited<'_> {
    fn drop(&mut self) {
        // It only ever was without the flag since `new`; nothing else is started meanwhile.
        let _ = fcntl(self.0.descriptor(), FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC));
    }
}

/// Completes the trace, tells what happened and ends as the program ended.
fn conclude(
    arguments: &Arguments,
    mut summary: Summary,
    ending: Ending,
    stream: &Stream,
    recorder: Recorder,
    started: Instant,
) -> Result<ExitCode, Failure> {
    summary.replaced = recorder.replaced();
    let (recorded, finished) = recorder.finish();
    summary.record(recorded);
    summary.bytes = std::fs::metadata(&arguments.output).map_or(0, |file| file.len());
    summary.ending = ending;
    summary.threads = stream.threads();
    summary.untraced_threads = stream.untraced_threads();
    summary.untraced_children = stream.forks();
    summary.untraced_programs = stream.fork_execs();
    summary.elapsed_seconds = started.elapsed().as_secs_f64();
    if arguments.json {
        let text = serde_json::to_string(&summary);
        eprintln!("{}", text.map_err(|error| Failure::own(error.to_string()))?);
    } else if !arguments.quiet {
        complain(&summary.line());
        summary.gaps().iter().for_each(|line| complain(line));
    }
    finished.map_err(|error| incomplete(&error))?;
    Ok(match summary.ending {
        Ending::Exited(code) => ExitCode::from(code as u8),
        Ending::Killed(signal) => {
            die_by(signal);
            ExitCode::from(128u8.wrapping_add(signal as u8))
        }
        Ending::Running => ExitCode::from(125),
    })
}

fn incomplete(error: &TraceError) -> Failure {
    Failure::own(format!("the trace ends before the program did: {error}"))
}
