//! `farside study`: published experiments, done again from the programs up.

pub mod path;

use std::process::ExitCode;

use clap::Subcommand;

use crate::Failure;

/// What can be studied.
#[derive(Debug, Subcommand)]
pub enum Study {
    /// PATH's figures 6 to 12: captures the programs, simulates, and writes tables and plots.
    Path(path::Arguments),
}

/// Does the study.
pub fn study(study: &Study) -> Result<ExitCode, Failure> {
    match study {
        Study::Path(arguments) => path::study(arguments),
    }
}
