//! `farside import`: another tool's trace into Farside's own format.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use farside_trace::import::{Column, ImportFormat, ImportOptions, Importer};
use farside_trace::{Access, Summary, TraceError, TraceFormat, TraceWriter};

use super::target::Target;
use super::{failure, files, list};
use crate::Failure;
use crate::options::parse_size;

/// Options of `farside import`.
#[derive(Debug, Args)]
pub struct ImportArguments {
    /// The trace to read; "-" is standard input. What ends in .zst is decompressed.
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The trace to write, in Farside's own format.
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,
    /// The format of IN, if its name and beginning do not tell it.
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
    /// Size of a page, a power of two.
    #[arg(long, value_name = "SIZE", default_value = "4K")]
    page_size: String,
    /// Keep consecutive accesses of a thread to the same page apart. Without it they become one
    /// record with their number, if IN has addresses.
    #[arg(long, conflicts_with = "merge_repeats")]
    keep_repeats: bool,
    /// Merge consecutive accesses to the same page also if IN has pages or objects.
    #[arg(long)]
    merge_repeats: bool,
    /// The column of a CSV that has the objects: its name, or its number counted from 1.
    #[arg(long, value_name = "COLUMN")]
    object_column: Option<String>,
    /// No summary at the end.
    #[arg(long, short)]
    quiet: bool,
}

/// What the long help says in the end.
pub fn help() -> String {
    let formats = ImportFormat::ALL.iter().map(|&(_, name, about)| (name, about));
    format!(
        "Formats:\n{}\n\
         Lists of bare numbers may be pages or addresses, so they are not guessed.\n\n\
         Exit codes:\n  2    the command line or IN makes no sense\n  \
         125  OUT cannot be written; what was written stays readable",
        list(formats)
    )
}

/// Imports a trace.
pub fn import(arguments: &ImportArguments) -> Result<ExitCode, Failure> {
    let (input, output) = (&arguments.input, &arguments.output);
    let options = options(arguments)?;
    refuse_output(output)?;
    files::refuse_same(input, output)?;
    let opened = files::Input::open(input)?;
    let format = format(arguments, &opened.head)?;
    if options.object_column.is_some() && format != ImportFormat::Csv {
        let name = format.name();
        return Err(Failure::usage(format!(
            "--object-column: {name} has no columns, only csv has"
        )));
    }
    let mut importer = Importer::new(opened.source, format, &options, input);
    // A file that is something else altogether must not cost the one that is there.
    let first = importer.next().transpose().map_err(|error| failure(&error))?;
    let summary = convert(first, &mut importer, output);
    opened.bar.finish_and_clear();
    let summary = summary.map_err(|error| {
        if !matches!(error, TraceError::Write { .. }) {
            files::discard(output);
        }
        failure(&error)
    })?;
    if !arguments.quiet {
        tell(&summary, output);
    }
    Ok(ExitCode::SUCCESS)
}

fn convert(
    first: Option<Access>,
    importer: &mut Importer,
    output: &Path,
) -> Result<Summary, TraceError> {
    let mut writer = TraceWriter::create(output, &importer.metadata())?;
    first.map_or(Ok(()), |access| writer.write(access))?;
    for access in importer {
        writer.write(access?)?;
    }
    writer.finish()
}

fn options(arguments: &ImportArguments) -> Result<ImportOptions, Failure> {
    let given = &arguments.page_size;
    let page_size = parse_size(given).ok().filter(|size| size.is_power_of_two());
    let page_size = page_size.ok_or_else(|| {
        Failure::usage(format!("--page-size {given}: not a power of two such as 4K or 2M"))
    })?;
    let merge = match (arguments.keep_repeats, arguments.merge_repeats) {
        (true, _) => Some(false),
        (_, true) => Some(true),
        _ => None,
    };
    let object_column = arguments.object_column.as_ref().map(|column| match column.parse() {
        Ok(number) => Column::Number(number),
        Err(_) => Column::Name(column.clone()),
    });
    Ok(ImportOptions { page_shift: page_size.trailing_zeros(), merge, object_column })
}

/// Refuses names that other programs would take for something else.
fn refuse_output(output: &Path) -> Result<(), Failure> {
    if Target::of_path(output).is_some() || output == Path::new(files::STANDARD) {
        return Err(Failure::usage(format!(
            "-o {}: import writes Farside's own format; name the file .fpt, and use \
             'farside export' for others",
            output.display()
        )));
    }
    Ok(())
}

fn format(arguments: &ImportArguments, head: &[u8]) -> Result<ImportFormat, Failure> {
    let input = arguments.input.display();
    if TraceFormat::is_farside(head) {
        return Err(Failure::usage(format!(
            "{input}: that is a Farside trace already; it needs no import"
        )));
    }
    let names = || ImportFormat::ALL.map(|(_, name, _)| name).join(", ");
    match &arguments.from {
        Some(name) => ImportFormat::by_name(name)
            .ok_or_else(|| Failure::usage(format!("--from {name}: not one of {}", names()))),
        None => ImportFormat::guess(&arguments.input, head).ok_or_else(|| {
            Failure::usage(format!(
                "{input}: cannot tell its format; say --from one of {}",
                names()
            ))
        }),
    }
}

fn tell(summary: &Summary, output: &Path) {
    let Summary { accesses, weight, lowest, highest, .. } = summary;
    let merged = if accesses == weight { String::new() } else { format!(" ({weight} merged)") };
    eprintln!(
        "farside: {}: {accesses} accesses{merged}, pages {:#x} to {:#x}",
        output.display(),
        lowest.0,
        highest.0
    );
}
