//! `farside study`: published experiments, done again from the programs up.

mod eden;
mod figure;
mod input;
mod page;
mod path;
mod pointers;
mod run;
mod serve;

use std::fs;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use clap::Subcommand;

use crate::Failure;

/// What can be studied.
#[derive(Debug, Subcommand)]
pub enum Study {
    /// Eden's figure 2: how few places in a program cause nearly all of its faults.
    Eden(eden::Arguments),
    /// CHERI-picking's figures 1 and 2: which faults follow pointers, and which of them prefetchers foresee.
    Pointers(pointers::Arguments),
    /// PATH's figures 6 to 12: captures the programs, simulates, and writes tables and plots.
    Path(path::Arguments),
}

/// Does the study.
pub fn study(study: &Study) -> Result<ExitCode, Failure> {
    match study {
        Study::Eden(arguments) => eden::study(arguments),
        Study::Pointers(arguments) => pointers::study(arguments),
        Study::Path(arguments) => path::study(arguments),
    }
}

/// Says what is going on, if somebody watches.
fn tell(what: &str) {
    if io::stderr().is_terminal() {
        eprintln!("farside: {what}");
    }
}

fn make(directory: &Path) -> Result<(), Failure> {
    fs::create_dir_all(directory)
        .map_err(|error| Failure::usage(format!("cannot make {}: {error}", directory.display())))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text)
        .map_err(|error| Failure::own(format!("cannot write {}: {error}", path.display())))
}

/// Those of all that were asked for by name; all, if none was.
fn chosen<'a, T>(
    all: &'a [T],
    name_of: impl Fn(&T) -> &str,
    names: &[String],
) -> Result<Vec<&'a T>, Failure> {
    if names.is_empty() {
        return Ok(all.iter().collect());
    }
    let find = |name: &String| {
        all.iter().find(|one| name_of(one) == name).ok_or_else(|| {
            let known: Vec<_> = all.iter().map(&name_of).collect();
            Failure::usage(format!("--programs {name}: none is called so; {}", known.join(", ")))
        })
    };
    names.iter().map(find).collect()
}
