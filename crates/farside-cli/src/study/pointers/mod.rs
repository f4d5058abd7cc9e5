//! CHERI-picking's motivating study (Patel and others, section 3, figures 1 and 2): which share of a program's faults
//! is pointer-based, and which of them prefetchers foresee, for programs from packages and for programs like the paper's.

mod claims;
mod figures;
mod look;
mod programs;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::input::Place;
use super::{chosen, make, page, tell};
use crate::Failure;

/// Options of `farside study pointers`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Where tables and plots go; the page beside it gets the same name and ".md".
    #[arg(long, short, value_name = "DIRECTORY", default_value = "docs/studies/cheri-picking")]
    output: PathBuf,
    /// The directory of studies: programs, and the text of the page.
    #[arg(long, value_name = "DIRECTORY", default_value = "studies")]
    sources: PathBuf,
    /// Where programs are built and inputs kept.
    #[arg(long, value_name = "DIRECTORY", default_value = "target/study-pointers")]
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
    let all = programs::all();
    let programs = chosen(&all, |program| program.name, &arguments.programs)?;
    make(&arguments.work)?;
    make(&arguments.output)?;
    let place = Place::new(&arguments.sources, &arguments.work, arguments.small)?;
    let mut looked = Vec::new();
    for program in programs {
        let say = |what: &str| tell(&format!("{}: {what}", program.name));
        looked.push(look::look(program, &place, &say)?);
    }
    let figures = figures::all(&looked);
    for figure in &figures {
        figure.write(&arguments.output)?;
    }
    if arguments.programs.is_empty() && !arguments.small {
        let claims = claims::table(&looked);
        let sources = arguments.sources.join("cheri-picking");
        page::write(&sources, &arguments.output, &figures, &claims)?;
    }
    Ok(ExitCode::SUCCESS)
}
