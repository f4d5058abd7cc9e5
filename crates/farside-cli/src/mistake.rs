//! What is wrong with a command line, in one line that says where to look on.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::Failure;
use crate::definition::definition;

/// Help and version are printed as they are; anything else becomes one line. `arguments` begin with the
/// command's own name.
pub fn explain(error: &clap::Error, arguments: &[OsString]) -> Result<ExitCode, Failure> {
    let help = help(arguments);
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // Nobody is left to tell if stdout is closed.
            let _ = error.print();
            Ok(ExitCode::SUCCESS)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Err(Failure::usage(format!("no command given; see: {help}")))
        }
        _ => {
            let text = error.render().to_string();
            let first = text.split("\n\n").next().unwrap_or_default();
            let line = first.split_whitespace().collect::<Vec<_>>().join(" ");
            let line = line.strip_prefix("error: ").unwrap_or(&line);
            Err(Failure::usage(format!("{line}{}; see: {help}", meant(error))))
        }
    }
}

/// The help of the command that `arguments` begin with: what is missing or wrong is explained there.
fn help(arguments: &[OsString]) -> String {
    let mut command = definition();
    let mut path = command.get_name().to_owned();
    for word in arguments.iter().skip(1) {
        let Some(next) = command.find_subcommand(word) else { break };
        path = format!("{path} {}", next.get_name());
        command = next.clone();
    }
    format!("{path} --help")
}

/// What exists and is spelt alike, as a question.
fn meant(error: &clap::Error) -> String {
    let kinds =
        [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    let name = kinds.iter().find_map(|kind| match error.get(*kind) {
        Some(ContextValue::String(name)) => Some(name.as_str()),
        Some(ContextValue::Strings(names)) => names.first().map(String::as_str),
        _ => None,
    });
    name.map_or_else(String::new, |name| format!(" (did you mean '{name}'?)"))
}
