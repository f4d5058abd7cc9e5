//! `farside tapes`: what is kept for later runs, and what a tape holds.

mod build_id;
mod departures;
mod list;
mod picture;
mod prune;
mod show;
mod store;

use std::process::ExitCode;

use clap::{Args, Subcommand};

pub use build_id::build_id;
pub(crate) use departures::Departures;
pub use store::{About, Entry, KeptTape, Part, Store, TraceDraft};

use crate::Failure;

/// Printed after the options.
pub const HELP: &str = "\
Traces and tapes are kept in the folder farside/tapes of $XDG_STATE_HOME, which is ~/.local/state if it is not
set: for each program, told by its build id and file name, and its arguments a folder of its own, and so for
each part of a run (farside.h).";

/// Options of `farside tapes`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct TapesArguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// Print an array of objects instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show what a tape holds, and in which order pages are used.
    Show(show::ShowArguments),
    /// Remove traces and tapes that have not been used for long.
    Prune(prune::PruneArguments),
}

/// Lists, shows or removes.
pub fn tapes(arguments: &TapesArguments) -> Result<ExitCode, Failure> {
    match &arguments.action {
        None => list::list(&store()?, arguments.json),
        Some(Action::Show(arguments)) => show::show(arguments),
        Some(Action::Prune(arguments)) => prune::prune(&store()?, arguments),
    }
}

fn store() -> Result<Store, Failure> {
    Store::of_user().ok_or_else(|| {
        Failure::usage("no place for tapes: set XDG_STATE_HOME or HOME to an absolute path")
    })
}
