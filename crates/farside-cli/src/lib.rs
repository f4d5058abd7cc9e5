//! The `farside` command: programs on far memory, what they do with their memory, and what a user
//! needs around that.

pub mod analysis;
pub mod balance;
pub mod bench;
pub mod capture;
mod command;
mod compiler;
mod definition;
pub mod doctor;
pub mod explain;
mod failure;
pub mod faults;
mod fetching;
pub mod figures;
mod generate;
mod limit;
mod mistake;
mod node;
pub mod options;
mod output;
pub mod plan;
mod progress;
pub mod record;
pub mod run;
pub mod sizing;
pub mod study;
pub mod tapes;
pub mod together;
pub mod top;
pub mod traces;
pub mod tune;

use std::process::ExitCode;

pub use failure::Failure;

/// Does what the command line asks for.
pub fn main() -> ExitCode {
    command::dispatch(std::env::args_os()).unwrap_or_else(|failure| failure.report())
}
