//! Eden's study of fault sites (Yelam and others, Eden, section 2.3 and figure 2): how many places in a
//! program cause nearly all of its faults, for programs from packages, numerical kernels and examples.

mod claims;
mod figures;
mod look;
pub(super) mod programs;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::input::Place;
use super::{chosen, make, page, tell};
use crate::Failure;
use programs::PROGRAMS;

/// Options of `farside study eden`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Where tables and plots go; the page beside it gets the same name and ".md".
    #[arg(long, short, value_name = "DIRECTORY", default_value = "docs/studies/eden")]
    output: PathBuf,
    /// The directory of studies: programs, and the text of the page.
    #[arg(long, value_name = "DIRECTORY", default_value = "studies")]
    sources: PathBuf,
    /// Where programs are built and inputs kept.
    #[arg(long, value_name = "DIRECTORY", default_value = "target/study-eden")]
    work: PathBuf,
    /// Study these programs only, separated by commas; the page is left as it is.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    programs: Vec<String>,
    /// Small inputs, to try it out; the page is left as it is.
    #[arg(long)]
    small: bool,
}

/// Does all of it.
pub fn study(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let programs = chosen(PROGRAMS, |program| program.name, &arguments.programs)?;
    make(&arguments.work)?;
    make(&arguments.output)?;
    let place = Place::new(&arguments.sources, &arguments.work, arguments.small)?;
    let mut all = Vec::new();
    for program in programs {
        let say = |what: &str| tell(&format!("{}: {what}", program.name));
        all.push(look::look(program, &place, &say)?);
    }
    let figures = figures::all(&all);
    for figure in &figures {
        figure.write(&arguments.output)?;
    }
    if arguments.programs.is_empty() && !arguments.small {
        let claims = claims::table(&all);
        page::write(&arguments.sources.join("eden"), &arguments.output, &figures, &claims)?;
    }
    Ok(ExitCode::SUCCESS)
}
