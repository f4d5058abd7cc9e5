//! The experiments of the PATH paper (Azimi and others, ISMM 2007, section 6) on programs of the same
//! kind: captured once each, simulated under all settings in one pass, and drawn.

mod capture;
mod claims;
mod compile;
mod experiment;
mod figures;
mod layout;
mod model;
mod programs;
mod sharing;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::{chosen, make, page, tell, write};
use crate::Failure;
use capture::Captured;
use experiment::Results;
use programs::{PROGRAMS, Program, Scale};

/// Options of `farside study path`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Where tables and plots go; the page beside it gets the same name and ".md".
    #[arg(long, short, value_name = "DIRECTORY", default_value = "docs/studies/path")]
    output: PathBuf,
    /// The sources of the programs, and the text of the page.
    #[arg(long, value_name = "DIRECTORY", default_value = "studies/path")]
    sources: PathBuf,
    /// Where programs are built and traces kept.
    #[arg(long, value_name = "DIRECTORY", default_value = "target/study-path")]
    work: PathBuf,
    /// Study these programs only, separated by commas; the page is left as it is.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    programs: Vec<String>,
    /// Small inputs, to try it out; the page is left as it is.
    #[arg(long)]
    small: bool,
    /// Take the traces that an earlier study left in the directory for work.
    #[arg(long)]
    reuse: bool,
}

/// Does all of it.
pub fn study(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let programs = chosen(PROGRAMS, |program| program.name, &arguments.programs)?;
    let scale = if arguments.small { Scale::Small } else { Scale::Full };
    make(&arguments.work)?;
    make(&arguments.output)?;
    capture::fix_addresses()?;
    let mut results = Vec::new();
    for program in programs {
        let captured =
            capture::capture(program, scale, &arguments.sources, &arguments.work, arguments.reuse)?;
        results.push(simulated(program, captured)?);
    }
    let mut figures = figures::all(&results);
    figures.extend(sharing::figure(&results)?);
    for figure in &figures {
        figure.write(&arguments.output)?;
    }
    if arguments.programs.is_empty() && !arguments.small {
        let claims = claims::table(&results, &figures);
        page::write(&arguments.sources, &arguments.output, &figures, &claims)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn simulated(program: &'static Program, captured: Captured) -> Result<Results, Failure> {
    tell(&format!("simulating {}", program.name));
    experiment::results(program, captured)
}

/// Builds one of the programs in `work`; the command that runs it on its input.
///
/// # Errors
/// If there is none of that name, or it cannot be built.
pub(super) fn kernel(
    name: &str,
    sources: &Path,
    work: &Path,
    small: bool,
) -> Result<Vec<OsString>, Failure> {
    let names = [name.to_owned()];
    let program = chosen(PROGRAMS, |program| program.name, &names)?[0];
    let scale = if small { Scale::Small } else { Scale::Full };
    let arguments = program.input(scale).arguments.iter().map(OsString::from);
    Ok(compile::compile(program, sources, work)?.into_iter().chain(arguments).collect())
}
