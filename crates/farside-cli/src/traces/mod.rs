//! `farside import` and `farside export`: traces from and for other programs.

pub mod export;
pub(crate) mod files;
pub mod import;
pub mod progress;
mod target;

use farside_trace::TraceError;

use crate::Failure;

/// What is wrong with a file that the user named is told with exit code 2; a disk that is full, with
/// 125.
fn failure(error: &TraceError) -> Failure {
    match error {
        TraceError::Write { .. } | TraceError::Export { .. } => Failure::own(error.to_string()),
        _ => Failure::usage(error.to_string()),
    }
}

/// The formats for a help text.
fn list<'a>(formats: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    formats.map(|(name, about)| format!("  {name:<16}{about}\n")).collect()
}
