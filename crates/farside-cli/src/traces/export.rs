//! `farside export`: a trace in another program's format.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use farside_report::ColumnsExport;
use farside_trace::export::{CsvExport, Export, OracleExport, PagesExport};
use farside_trace::{Block, Metadata, TraceError, TraceFormat, TraceReader};
use indicatif::ProgressBar;

use super::target::{TARGETS, Target};
use super::{failure, files, list, progress};
use crate::Failure;

/// Options of `farside export`.
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// The trace to read: .fpt, .u64, .u64.zst, or .txt with pages; "-" is a Farside trace on
    /// standard input.
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The file to write; "-" is standard output.
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,
    /// The format of OUT, if its name does not tell it.
    #[arg(long, value_name = "NAME")]
    to: Option<String>,
}

/// What the long help says in the end.
pub fn help() -> String {
    let formats = TARGETS.iter().map(|&(_, name, _, about)| (name, about));
    format!(
        "Formats:\n{}\n\
         oracle-general goes through OUT twice, so OUT has to be a regular file, and keeps about\n\
         32 bytes in memory for each page of the trace. No format has a place for the names of\n\
         mappings.\n\n\
         Exit codes:\n  2    the command line or IN makes no sense\n  125  OUT cannot be written",
        list(formats)
    )
}

/// Exports a trace.
pub fn export(arguments: &ExportArguments) -> Result<ExitCode, Failure> {
    let (input, output) = (&arguments.input, &arguments.output);
    let target = target(arguments)?;
    files::refuse_same(input, output)?;
    let (reader, bytes) = open(input)?;
    let metadata = reader.metadata().cloned().unwrap_or_default();
    // A file that cannot be read at all must not cost the one that is there.
    let mut source = Source { reader, block: Block::default(), events: 0 };
    let more = source.next().map_err(|error| failure(&error))?;
    let mut sink = sink(target, output, &metadata)?;
    let bar = progress::bar(bytes);
    let converted = convert(&mut source, more, sink.as_mut(), &bar);
    bar.finish_and_clear();
    if let Err(error) = converted {
        drop(sink);
        files::discard(output);
        return if closed_pipe(&error) { Ok(ExitCode::SUCCESS) } else { Err(failure(&error)) };
    }
    if let Some(cut) = source.reader.cut() {
        eprintln!("farside: {cut}");
    }
    if source.events > 0 {
        let (events, name) = (source.events, target.name());
        eprintln!("farside: {events} mapping events are left out: {name} has no place for them");
    }
    Ok(ExitCode::SUCCESS)
}

/// A trace, block by block.
struct Source {
    reader: TraceReader,
    block: Block,
    events: u64,
}

impl Source {
    fn next(&mut self) -> Result<bool, TraceError> {
        let more = self.reader.next_block(&mut self.block)?;
        self.events += self.block.events.len() as u64;
        Ok(more)
    }
}

fn convert(
    source: &mut Source,
    mut more: bool,
    sink: &mut dyn Export,
    bar: &ProgressBar,
) -> Result<(), TraceError> {
    while more {
        sink.block(&source.block)?;
        bar.set_position(source.reader.bytes_read());
        more = source.next()?;
    }
    let length = bar.length().unwrap_or(0);
    sink.finish(&mut |part| bar.set_position((part * length as f64) as u64))
}

fn target(arguments: &ExportArguments) -> Result<Target, Failure> {
    let output = arguments.output.display();
    let names = || TARGETS.map(|(_, name, ..)| name).join(", ");
    let told = Target::of_path(&arguments.output);
    let target = match (&arguments.to, told) {
        (Some(name), told) => {
            let target = TARGETS.iter().find(|(_, known, ..)| known == name).map(|(t, ..)| *t);
            let target = target
                .ok_or_else(|| Failure::usage(format!("--to {name}: not one of {}", names())))?;
            if let Some(other) = told.filter(|told| *told != target) {
                let other = other.name();
                return Err(Failure::usage(format!(
                    "--to {name}: the name {output} means {other}; name the file otherwise"
                )));
            }
            target
        }
        (None, Some(told)) => told,
        (None, None) => {
            return Err(Failure::usage(format!(
                "-o {output}: the name does not tell the format; say --to one of {}",
                names()
            )));
        }
    };
    if TraceFormat::of_path(&arguments.output) == Some(TraceFormat::Farside) {
        return Err(Failure::usage(format!(
            "-o {output}: that name is for Farside traces; 'farside import' writes them"
        )));
    }
    Ok(target)
}

/// The trace, and its length in bytes if it is known.
fn open(input: &Path) -> Result<(TraceReader, Option<u64>), Failure> {
    let (reader, bytes) = if input == Path::new(files::STANDARD) {
        (TraceReader::new(io::stdin(), TraceFormat::Farside, input), None)
    } else {
        let file = std::fs::metadata(input).ok().filter(std::fs::Metadata::is_file);
        (TraceReader::open(input), file.map(|file| file.len()))
    };
    Ok((reader.map_err(|error| failure(&error))?, bytes))
}

fn sink(target: Target, output: &Path, metadata: &Metadata) -> Result<Box<dyn Export>, Failure> {
    let standard = output == Path::new(files::STANDARD);
    let regular = |file: &std::fs::File| file.metadata().is_ok_and(|data| data.is_file());
    if target == Target::OracleGeneral {
        let file = if standard { None } else { Some(files::create(output)?) };
        let Some(file) = file.filter(regular) else {
            return Err(Failure::usage(format!(
                "-o {}: oracle-general has to go to a regular file",
                output.display()
            )));
        };
        return OracleExport::new(file, metadata.page_shift, output)
            .map(|export| Box::new(export) as Box<dyn Export>)
            .map_err(|error| failure(&error));
    }
    let sink: Box<dyn Write + Send> =
        if standard { Box::new(io::stdout()) } else { Box::new(files::create(output)?) };
    let sink = BufWriter::with_capacity(1 << 18, sink);
    let export: Result<Box<dyn Export>, _> = match target {
        Target::Csv => CsvExport::new(sink, output).map(|export| Box::new(export) as _),
        Target::Pages(list) => {
            PagesExport::new(sink, list, output).map(|export| Box::new(export) as _)
        }
        Target::Columns(format) => {
            ColumnsExport::new(sink, format, metadata, output).map(|export| Box::new(export) as _)
        }
        Target::OracleGeneral => unreachable!("handled above"),
    };
    export.map_err(|error| failure(&error))
}

/// Whether nobody reads standard output any more, as behind `head`.
fn closed_pipe(error: &TraceError) -> bool {
    matches!(error, TraceError::Export { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
}
