//! The command line as it is parsed and told: paragraphs of help are as wide as the terminal is.

use std::ffi::OsString;

use clap::{Command, CommandFactory, FromArgMatches};

use crate::command::Cli;

/// A line that is shorter than this ends on purpose.
const FULL: usize = 70;

/// The command with all that there is below it.
pub fn definition() -> Command {
    flowing(Cli::command())
}

/// What `arguments`, the first of which is the command's own name, ask for.
pub fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let matches = definition().try_get_matches_from(arguments)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut definition()))
}

/// Terminals differ in width: what the source has in several lines would be broken once more in each of them.
fn flowing(mut command: Command) -> Command {
    if let Some(text) = command.get_after_help().map(|text| paragraphs(&text.to_string())) {
        command = command.after_help(text);
    }
    if let Some(text) = command.get_after_long_help().map(|text| paragraphs(&text.to_string())) {
        command = command.after_long_help(text);
    }
    command.mut_subcommands(flowing)
}

/// The same with each paragraph in one line; tables and examples are indented and stay as they are.
fn paragraphs(text: &str) -> String {
    let is_plain = |line: &str| !line.is_empty() && !line.starts_with(' ');
    let mut result = String::new();
    let mut before = "";
    for (number, line) in text.lines().enumerate() {
        let goes_on = is_plain(before) && before.len() >= FULL && is_plain(line);
        if number > 0 {
            result.push(if goes_on { ' ' } else { '\n' });
        }
        result.push_str(line);
        before = line;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        definition().debug_assert();
    }

    #[test]
    fn paragraphs_are_lines_and_tables_stay() {
        let long = "a word ".repeat(12);
        let long = long.trim_end();
        let text = format!("{long}\n{long}\nend.\n\nExample:\n  farside {long}\n  more\nAnd then");
        let told = format!("{long} {long} end.\n\nExample:\n  farside {long}\n  more\nAnd then");
        assert_eq!(paragraphs(&text), told);
    }

    #[test]
    fn help_has_no_short_rests_of_lines() {
        fn check(command: &Command) {
            let texts = [command.get_after_help(), command.get_after_long_help()];
            for text in texts.into_iter().flatten().map(ToString::to_string) {
                let lines: Vec<_> = text.lines().collect();
                for pair in lines.windows(2) {
                    let is_cut = |line: &str| !line.is_empty() && !line.starts_with(' ');
                    let cut = is_cut(pair[0]) && pair[0].len() >= FULL && is_cut(pair[1]);
                    assert!(!cut, "{}: {pair:?}", command.get_name());
                }
            }
            command.get_subcommands().for_each(check);
        }
        check(&definition());
    }
}
