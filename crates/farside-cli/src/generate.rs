//! Completions and manual pages, from the definition of the command line.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap_complete::Shell;

use crate::Failure;
use crate::definition::definition;

/// Prints the completions for `shell`.
pub fn completions(shell: Shell) -> Result<ExitCode, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut definition(), "farside", &mut text);
    match io::stdout().write_all(&text) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::own(format!("cannot print the completions: {error}")))
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Writes one manual page for the command and one for each of its verbs.
pub fn manual(directory: &Path) -> Result<ExitCode, Failure> {
    fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(definition(), directory))
        .map_err(|error| {
            Failure::own(format!("cannot write manual pages to {}: {error}", directory.display()))
        })?;
    Ok(ExitCode::SUCCESS)
}
