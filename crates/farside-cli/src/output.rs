//! What commands print when they are done: text for people, JSON for programs.

use std::fmt::Display;
use std::io::{self, Write};

use serde::Serialize;

use crate::Failure;

/// Prints a text, with the end of its last line, and without blanks at the ends of lines, which tables have. Whoever reads
/// it may have seen enough and be gone.
///
/// # Errors
/// If it cannot be written for another reason.
pub(crate) fn print(text: impl Display) -> Result<(), Failure> {
    let text = without_blanks(&text.to_string());
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::own(format!("cannot write to the standard output: {error}")))
        }
        _ => Ok(()),
    }
}

fn without_blanks(text: &str) -> String {
    text.lines().flat_map(|line| [line.trim_end_matches(' '), "\n"]).collect()
}

/// Prints a value as JSON, on several lines.
///
/// # Errors
/// As [`print`], and if it cannot be JSON.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value);
    print(text.map_err(|error| Failure::own(format!("as JSON: {error}")))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_where_their_last_word_does() {
        assert_eq!(
            without_blanks("NAME  SIZE \n  a      1   \n\nall"),
            "NAME  SIZE\n  a      1\n\nall\n"
        );
        assert_eq!(without_blanks(""), "");
    }
}
