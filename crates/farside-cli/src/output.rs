//! What commands print when they are done: text for people, JSON for programs.

use std::fmt::Display;
use std::io::{self, Write};

use serde::Serialize;

use crate::Failure;

/// Prints a text, with the end of its last line. Whoever reads it may have seen enough and be gone.
///
/// # Errors
/// If it cannot be written for another reason.
pub(crate) fn print(text: impl Display) -> Result<(), Failure> {
    let text = text.to_string();
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let mut out = io::stdout().lock();
    match write!(out, "{text}{end}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::own(format!("cannot write to the standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints a value as JSON, on several lines.
///
/// # Errors
/// As [`print`], and if it cannot be JSON.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value);
    print(text.map_err(|error| Failure::own(format!("as JSON: {error}")))?)
}
